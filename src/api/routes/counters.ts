// Counters of the caller's owners, and shared ones. A counter that only other owners have values in looks like an
// empty one.
import type { z } from 'zod';
import type { counter, counterRoutes, counterRow } from '../../contract/counters.ts';
import { EVERYBODY } from '../../core/items/counter.ts';
import { type CursorKind, decodeCursor } from '../../core/paging/cursor.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { derivedId } from '../../platform/random.ts';
import {
  type CounterList,
  type CounterPageRow,
  counterPage,
} from '../../store/views/counters/counter-page.ts';
import { type CounterTotal, counterTotals } from '../../store/views/counters/counter-totals.ts';
import { findCounter, listCounters, type StoredCounter } from '../../store/views/counters/find-counter.ts';
import { readCounter } from '../../store/views/counters/read-counter.ts';
import { type Actor, listedFor } from '../requests/actor.ts';
import type { ApiContext } from '../api-context.ts';
import { cutPage } from '../answers/cut-page.ts';
import type { Handlers } from '../requests/handler.ts';
import { nameMeasures } from '../jobs/name-measures.ts';
import { timeOrNull } from '../requests/wire-values.ts';

export const counterHandlers: Handlers<typeof counterRoutes> = {
  listCounters: async ({ actor, query }, { reads }) => {
    const owners = readableOwners(actor, query.all);
    const [counters, totals] = [await listCounters(reads), await counterTotals(reads, owners)];
    return {
      items: counters.map((each) =>
        toCounter(
          each,
          totals.find(({ counterId }) => counterId === each.counterId),
        ),
      ),
    };
  },
  getCounter: async ({ actor, params, query }, context) => {
    const owners = readableOwners(actor, query.all);
    const stored = await knownCounter(context, params.counter);
    const [total] = await counterTotals(context.reads, owners, stored.counterId);
    return toCounter(stored, total);
  },
  listCounterEntities: ({ actor, params, query }, context) => {
    const list = query.scope === undefined ? 'entities' : 'entities-of-scope';
    return answerPage(context, actor, params.counter, list, query.scope, query);
  },
  listCounterScopes: ({ actor, params, query }, context) => {
    const list = query.entity === undefined ? 'scopes' : 'scopes-of-entity';
    return answerPage(context, actor, params.counter, list, query.entity, query);
  },
  getCounterValue: async ({ actor, params, query }, context) => {
    const { scope, entity } = query;
    const owners = readableOwners(actor, query.all);
    const stored = await knownCounter(context, params.counter);
    const values = await readCounter(context.reads, stored.counterId, owners, keyOf(scope, entity));
    if (values.length === 0)
      throw new RowmillError('COUNTER_NOT_FOUND', `the counter ${stored.name} has no value for it`);
    const sums = stored.measures.map((_, at) =>
      values.reduce((sum, { measured }) => sum + (measured[at] ?? 0), 0),
    );
    const latest = values
      .map(({ updatedAt }) => updatedAt.toISOString())
      .sort()
      .at(-1)!;
    return {
      scope: scope ?? null,
      entity: entity ?? null,
      measured: nameMeasures(stored.measures, sums),
      updatedAt: latest,
      owners: values.map(({ ownerId, measured, updatedAt }) => ({
        ownerId,
        measured: nameMeasures(stored.measures, measured),
        updatedAt: updatedAt.toISOString(),
      })),
    };
  },
};

/** Shared counters are visible to every owner. */
function readableOwners(actor: Actor, all: boolean | undefined): readonly string[] | null {
  const owners = listedFor(actor, all);
  return owners && [...owners, EVERYBODY];
}

async function knownCounter({ reads }: ApiContext, name: string): Promise<StoredCounter> {
  const stored = await findCounter(reads, name);
  if (!stored) throw new RowmillError('COUNTER_NOT_FOUND', `there is no counter ${name}`);
  return stored;
}

function keyOf(scope: string | undefined, entity: string | undefined) {
  if (scope !== undefined) return entity === undefined ? { scope } : { scope, entity };
  if (entity !== undefined) return { entity };
  throw new RowmillError('COUNTER_INVALID', 'expected a scope, an entity or both', {
    hint: 'Use GET /api/counters/:counter for the total.',
  });
}

interface PageQuery {
  prefix?: string | undefined;
  sortBy?: string | undefined;
  order: 'asc' | 'desc';
  all?: boolean | undefined;
  limit: number;
  cursor?: string | undefined;
}

async function answerPage(
  context: ApiContext,
  actor: Actor,
  name: string,
  list: CounterList,
  of: string | undefined,
  query: PageQuery,
): Promise<{ items: z.infer<typeof counterRow>[]; next: string | null }> {
  const owners = readableOwners(actor, query.all);
  const stored = await knownCounter(context, name);
  const sort = sortOf(stored, query);
  // A derived id identifies the scope or entity: two texts of a thousand bytes would be too long for a URL.
  const cursor = {
    list: `counter ${name} ${list}${of === undefined ? '' : ` ${derivedId(of)}`}`,
    sort: sort ? `${query.sortBy} ${query.order}` : 'name',
    key: ['text', 'text', 'seq'],
  } as const satisfies CursorKind;
  const after = query.cursor === undefined ? null : decodeCursor(cursor, query.cursor);
  const rows = await counterPage(context.reads, {
    counterId: stored.counterId,
    list,
    of,
    owners,
    prefix: query.prefix,
    sort,
    ...(after && { after: { name: after[0], ownerId: after[1], ...(sort && { value: after[2] }) } }),
    limit: query.limit + 1,
  });
  const sortedValue = ({ measured }: CounterPageRow): number => (sort && measured[sort.measure]) ?? 0;
  return cutPage(
    rows,
    query.limit,
    (row) => ({
      name: row.name,
      ownerId: row.ownerId,
      measured: nameMeasures(stored.measures, row.measured),
      updatedAt: row.updatedAt.toISOString(),
    }),
    cursor,
    (last) => [last.name, last.ownerId, sortedValue(last)],
  );
}

function sortOf({ name, measures }: StoredCounter, { sortBy, order }: PageQuery) {
  if (sortBy === undefined) return undefined;
  const measure = measures.indexOf(sortBy);
  if (measure === -1)
    throw new RowmillError('COUNTER_INVALID', `expected a measure of counter ${name}, got ${sortBy}`, {
      hint: `It has ${measures.join(', ')}.`,
    });
  return { measure, descending: order === 'desc' };
}

function toCounter(stored: StoredCounter, total: CounterTotal | undefined): z.infer<typeof counter> {
  const { name, scope, entity, measures, shared } = stored;
  return {
    name,
    scope,
    entity,
    measures,
    shared,
    createdAt: stored.createdAt.toISOString(),
    total: nameMeasures(measures, total?.measured ?? []),
    updatedAt: timeOrNull(total?.updatedAt ?? null),
  };
}

// Counters: rollups that handlers feed. Scopes and entities are free text that may contain slashes and dots. They are
// passed in the query, because HTTP clients and proxies normalize such text in a path ("..", "%2F").
import { z } from 'zod';
import { defineRoutes } from './route.ts';
import { flag, page, pageOf, shortPage, time } from './values.ts';

/** Values by measure; every measure of the counter is present. */
const measured = z.record(z.string(), z.number());

export const counter = z
  .object({
    name: z.string(),
    /** Label for a scope: project. */
    scope: z.string(),
    /** Label for an entity: document. */
    entity: z.string(),
    measures: z.array(z.string()),
    /** One set of numbers for all owners: its rows have the owner `*`. */
    shared: z.boolean(),
    createdAt: time,
    /** Totals over all scopes of the owners shown. */
    total: measured,
    /** Time of the last change; null while the counter is empty. */
    updatedAt: time.nullable(),
  })
  .meta({ id: 'Counter' });
export type ShownCounter = z.infer<typeof counter>;

/** Values of one owner: two owners that count the same name have a row each. */
export const counterRow = z
  .object({ name: z.string(), ownerId: z.string(), measured, updatedAt: time })
  .meta({ id: 'CounterRow' });
export type CounterRow = z.infer<typeof counterRow>;

export const counterValue = z
  .object({
    scope: z.string().nullable(),
    entity: z.string().nullable(),
    /** Totals over the owners below. */
    measured,
    updatedAt: time,
    owners: z.array(z.object({ ownerId: z.string(), measured, updatedAt: time })),
  })
  .meta({ id: 'CounterValue' });

const params = z.object({ counter: z.string().min(1).max(100) });
const scope = z.string().min(1).max(500).optional();
const entity = z.string().min(1).max(1000).optional();
const all = flag.optional();
const list = {
  /** Matches the beginning of names. */
  prefix: z.string().min(1).max(1000).optional(),
  /** Sorts by this measure; by name if left out. */
  sortBy: z.string().min(1).max(100).optional(),
  /** Order of the measure. */
  order: z.enum(['asc', 'desc']).default('desc'),
  all,
  ...page,
};
const read = { method: 'GET', access: 'viewer', scope: 'read' } as const;

export const counterRoutes = defineRoutes({
  listCounters: {
    ...read,
    path: '/api/counters',
    summary: "Counters with totals over the caller's data.",
    query: z.strictObject({ all, ...shortPage }),
    pagedBy: ['name'],
    answer: { status: 200, schema: pageOf(counter) },
    errors: ['FORBIDDEN', 'CURSOR_INVALID'],
  },
  getCounter: {
    ...read,
    path: '/api/counters/:counter',
    summary: 'One counter with its totals.',
    params,
    query: z.strictObject({ all }),
    answer: { status: 200, schema: counter },
    errors: ['FORBIDDEN', 'COUNTER_NOT_FOUND'],
  },
  listCounterEntities: {
    ...read,
    path: '/api/counters/:counter/entities',
    summary: 'Entities with their values over all scopes or in one scope.',
    params,
    query: z.strictObject({ scope, ...list }),
    answer: { status: 200, schema: pageOf(counterRow) },
    errors: ['FORBIDDEN', 'COUNTER_NOT_FOUND', 'COUNTER_INVALID', 'CURSOR_INVALID'],
  },
  listCounterScopes: {
    ...read,
    path: '/api/counters/:counter/scopes',
    summary: 'Scopes with their values over all entities or for one entity.',
    params,
    query: z.strictObject({ entity, ...list }),
    answer: { status: 200, schema: pageOf(counterRow) },
    errors: ['FORBIDDEN', 'COUNTER_NOT_FOUND', 'COUNTER_INVALID', 'CURSOR_INVALID'],
  },
  getCounterValue: {
    ...read,
    path: '/api/counters/:counter/value',
    summary: 'The values of an entity, of a scope, or of an entity in a scope.',
    params,
    query: z.strictObject({ scope, entity, all }),
    answer: { status: 200, schema: counterValue },
    errors: ['FORBIDDEN', 'COUNTER_NOT_FOUND', 'COUNTER_INVALID'],
  },
});

// Common parts of the commands of the model-based run. Each command changes the job and its model, and then every item
// of the database must match the model. Counts the situations reached, so that a run that reaches none is noticed.
import type fc from 'fast-check';
import type pg from 'pg';
import { expect } from 'vitest';
import { errorSignature } from '../../src/core/errors/error-signature.ts';
import { MAX_CRASHES } from '../../src/core/retries/crash-policy.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { newId } from '../../src/platform/random.ts';
import { checkInvariants } from '../support/invariants.ts';
import type { HaltedCall } from './halted-call.ts';
import { countedSums } from './model-counters.ts';
import { LAST_PHASE, type Model, openSeqs, wordOf } from './model-job.ts';

export interface Real {
  context: EngineContext;
  client: pg.Client;
  jobId: string;
  /** Halted finalizers, by their number in the model. */
  endings: Map<number, HaltedCall<boolean>>;
}

export const WORKERS = [newId(), newId(), newId()];

/** How often each command ran, and how often each situation of interest occurred after one. */
export const seen = new Map<string, number>();

export function see(what: string): void {
  seen.set(what, (seen.get(what) ?? 0) + 1);
}

const SITUATIONS: Record<string, (model: Model) => boolean> = {
  'several leases': ({ held }) => held.length > 1,
  'a lease of the second phase': ({ held }) => held.some((lease) => lease.phase === LAST_PHASE),
  'a retry that waits': ({ items }) => items.some(({ place }) => place?.delayed),
  'an expired lease': ({ held }) => held.some((lease) => lease.expired),
  'an item failed by crashes': ({ items }) =>
    items.some(({ results }) => results.at(-1)?.errorClass === 'crashed'),
  'a suspect that crashed alone': ({ items }) =>
    items.some(({ place }) => place?.crashes === MAX_CRASHES - 1),
  'a span with an old and a new token': ({ held, dead }) =>
    held.some((lease) => dead.some((other) => other.spanId === lease.spanId)),
  'outcomes that came too late': ({ fenced }) => fenced > 0,
  'all items done, the job not': (model) =>
    model.sealed && model.state === 'RUNNING' && openSeqs(model).length === 0,
  'all items done, the job paused': (model) =>
    model.sealed && model.state === 'PAUSED' && openSeqs(model).length === 0,
  'a lease of a paused job': ({ state, held }) => state === 'PAUSED' && held.length > 0,
  'items that a trial holds': ({ items }) => items.some(({ place }) => place?.held),
  'an emitted item': ({ emitted }) => emitted.stored > 0,
  'an emitted key that the job has': ({ emitted }) => emitted.known > 0,
  'an emitted key twice in a flush': ({ emitted }) => emitted.twiceInFlush > 0,
  'an emitted item from too deep': ({ emitted }) => emitted.tooDeep > 0,
  'an emitted item too many': ({ emitted }) => emitted.tooMany > 0,
  'an item emitted in a later generation': ({ items }) =>
    items.some(({ key, words }) => key !== null && words[0]!.generation > 1),
  'a cancellation half done': (model) =>
    model.state === 'CANCELLING' && openSeqs(model).length > 0 && openSeqs(model).length < model.items.length,
  'a lease of a job that is being cancelled': ({ state, held }) => state === 'CANCELLING' && held.length > 0,
  'cancelled with results': ({ state, items }) =>
    state === 'CANCELLED' && items.some(({ results }) => results.at(-1)!.status !== 'CANCELLED'),
  'a result restored by a cancellation': ({ state, generation, items }) =>
    state === 'CANCELLED' &&
    generation > 1 &&
    items.some(({ results }) => results.at(-1)!.generation < generation),
  'a finalizing job without a holder': ({ state, ending }) => state === 'FINALIZING' && ending === null,
  'a finalizing job with a holder': ({ state, ending }) =>
    state === 'FINALIZING' && ending?.expired === false,
  'a finalizing job with an expired holder': ({ state, ending }) =>
    state === 'FINALIZING' && ending?.expired === true,
  'a finalizer that lost its lease': ({ endings, ending }) => endings.some(({ id }) => id !== ending?.id),
  'a finalizer of an older generation': ({ endings, generation }) =>
    endings.some((each) => each.generation < generation),
  'two generations at work': ({ state, items }) =>
    state === 'RUNNING' && new Set(items.flatMap(({ place }) => place?.generation ?? [])).size > 1,
  'the second generation at work': ({ state, generation }) => state === 'RUNNING' && generation === 2,
  'the third generation or a later one': ({ generation }) => generation > 2,
  'a lost lease of an older generation': ({ dead, generation }) =>
    dead.some((lease) => lease.generation < generation),
  'an item that restarts at the second phase': ({ items, generation }) =>
    items.some(
      ({ place, outputs }) => place?.phase === LAST_PHASE && outputs.at(-1)!.generation < generation,
    ),
  'an edited item at work': ({ items }) => items.some(({ place, words }) => place?.token && words.length > 1),
  'an item that was edited twice': ({ items }) => items.some(({ words }) => words.length > 2),
  'a contribution that was taken back': ({ counters }) => counters.takenBack > 0,
  'a contribution that was void before it was taken back': ({ counters }) => counters.void > 0,
  'an item that waits again and still counts': ({ items, generation }) =>
    items.some(
      ({ place, counted }) => place !== null && counted.some((each) => each.generation < generation),
    ),
  'the end': ({ state }) => state === 'DONE',
  'three summaries or more': ({ summaries }) => summaries.length > 2,
};

export const SITUATION_NAMES = Object.keys(SITUATIONS);

export function seeSituations(model: Model): void {
  for (const [situation, holds] of Object.entries(SITUATIONS)) if (holds(model)) see(situation);
}

export class Command implements fc.AsyncCommand<Model, Real> {
  readonly #text: string;
  readonly #canRun: (model: Model) => boolean;
  readonly #run: (model: Model, real: Real) => Promise<void>;

  constructor(
    text: string,
    canRun: (model: Model) => boolean,
    run: (model: Model, real: Real) => Promise<void>,
  ) {
    this.#text = text;
    this.#canRun = canRun;
    this.#run = run;
  }

  check(model: Readonly<Model>): boolean {
    return this.#canRun(model);
  }

  async run(model: Model, real: Real): Promise<void> {
    await this.#run(model, real);
    await expectAgreement(model, real);
    see(this.#text.split('(')[0]!);
    seeSituations(model);
  }

  toString(): string {
    return this.#text;
  }
}

export const always = (): boolean => true;
export const holdsAny = (model: Model): boolean => model.held.length > 0;
export const pick = <T>(list: T[], at: number): T => list[at % list.length]!;

/** Compares each item with its model: where it waits, its newest result, and its input. */
export async function expectAgreement(model: Model, { client, jobId }: Real): Promise<void> {
  const { rows } = await client.query<Record<string, unknown>>({
    name: 'places',
    text: `
      select state, generation, has_edits as "hasEdits", sealed_at is not null as sealed, cancelled_at is not null as cancelled,
        trial_items::int as trial, finalize_token is not null as "isHeld",
        (select coalesce(jsonb_object_agg(concat_ws(' ', generation, phase, signature), failed), '{}')
         from error_groups where job_id = $1 and failed <> 0) as groups,
        (select coalesce(jsonb_object_agg(scope || '/' || entity, measured[1]), '{}') from counter_entries) as counted,
        (select coalesce(jsonb_object_agg(entity, measured[1]), '{}') from counter_entities) as entities,
        (select coalesce(sum(fenced), 0)::int from ledger l where l.job_id = $1) as fenced,
        array(select coalesce((ingest_report ->> k)::int, 0) from unnest('{emitted,repeated,tooDeep,tooMany}'::text[]) k) as emitted,
        (select coalesce(jsonb_agg(found order by seq), '[]') from (
          select i.seq, jsonb_build_object(
            'word', coalesce(
              (select e.input ->> 'word' from item_edits e where e.job_id = $1 and e.seq = i.seq order by e.generation desc limit 1),
              i.input ->> 'word'),
            'key', i.item_key, 'depth', i.depth,
            'results', (select coalesce(jsonb_agg(jsonb_build_array(r.generation, r.phase, r.attempt, r.status) order by r.generation), '[]')
                        from results r where r.job_id = $1 and r.seq = i.seq),
            'place', case when s.span_id is not null then jsonb_build_object(
              'generation', s.generation, 'phase', s.phase, 'attempt', s.attempt, 'failures', s.failures, 'crashes', s.crashes, 'priority', s.priority,
              'delayed', s.ready_at > now() and s.ready_at < 'infinity', 'held', s.ready_at = 'infinity', 'token', s.token) end) as found
          from items i
          left join spans s on s.job_id = $1 and s.items @> i.seq
          where i.job_id = $1) p) as items
      from jobs j where j.job_id = $1`,
    values: [jobId],
  });
  const { items, counted, entities, ...job } = rows[0]!;
  const { state, generation, hasEdits, sealed, cancelled, trial, fenced, emitted } = model;
  expect(items, 'where the items are').toEqual(
    model.items.map((item) => ({
      word: wordOf(item),
      key: item.key,
      depth: item.depth,
      results: item.results.map((each) => [each.generation, each.phase, each.attempt, each.status]),
      place: item.place,
    })),
  );
  const sums = countedSums(model);
  expect(counted, 'counter entries').toEqual(sums);
  expect(entities, 'counter entities').toEqual(entitySums(sums));
  expect(job, 'the job').toEqual({
    state,
    generation,
    hasEdits,
    sealed,
    cancelled,
    trial,
    // A cancellation keeps the token until the job is finalized again; meanwhile the state is the fence.
    isHeld: state === 'CANCELLING' ? expect.any(Boolean) : model.ending !== null,
    groups: failedGroups(model),
    fenced,
    emitted: [emitted.stored, emitted.known + emitted.twiceInFlush, emitted.tooDeep, emitted.tooMany],
  });
  expect(await checkInvariants(client, jobId), 'invariants').toEqual([]);
}

function entitySums(sums: Record<string, number>): Record<string, number> {
  const entities: Record<string, number> = {};
  for (const [key, number] of Object.entries(sums)) {
    const entity = key.split('/')[1]!;
    entities[entity] = (entities[entity] ?? 0) + number;
  }
  return entities;
}

/** Number of items per error of their newest result. */
function failedGroups({ items }: Model): Record<string, number> {
  const groups: Record<string, number> = {};
  for (const { place, results } of items) {
    const newest = results.at(-1);
    if (place !== null || !newest || newest.errorClass === null) continue;
    const { generation, phase, errorClass, text } = newest;
    const group = `${generation} ${phase} ${errorSignature(errorClass, text ?? '')}`;
    groups[group] = (groups[group] ?? 0) + 1;
  }
  return groups;
}

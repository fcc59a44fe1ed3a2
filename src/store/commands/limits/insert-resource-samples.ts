import type { Executor, Statement } from '../../../platform/database.ts';
import type { ResourceKey } from './sync-resources.ts';

// One row per key and step of $6 milliseconds; the last sampler of a step wins. The totals come from the resource's
// row. Index: resource_samples_pkey. Rows are locked in key order, so that samplers wait for each other and do not
// deadlock.
const INSERT_RESOURCE_SAMPLES: Statement = {
  name: 'insert-resource-samples',
  text: `
    insert into resource_samples as s (name, key, at, concurrency, rate, in_use, calls, throttled)
    select r.name, r.key, date_bin($6::float8 * interval '1 millisecond', now(), 'epoch'), n.concurrency, n.rate, n.in_use,
           r.calls, r.throttled
    from unnest($1::text[], $2::text[], $3::float8[], $4::float8[], $5::int[]) as n(name, key, concurrency, rate, in_use)
    join resources r on r.name = n.name and r.key = n.key
    order by r.name, r.key
    on conflict (name, key, at) do update
    set concurrency = excluded.concurrency, rate = excluded.rate, in_use = greatest(s.in_use, excluded.in_use),
        calls = excluded.calls, throttled = excluded.throttled`,
};

// Index: resource_samples_by_time. Materialized, so that a join cannot run it again and lock more than the limit.
const PRUNE_RESOURCE_SAMPLES: Statement = {
  name: 'prune-resource-samples',
  text: `
    with old as materialized (
      select name, key, at from resource_samples where at < now() - $1::float8 * interval '1 millisecond'
      order by at
      limit $2
      for update skip locked
    )
    delete from resource_samples s
    using old
    where s.name = old.name and s.key = old.key and s.at = old.at`,
};

export interface ResourceSample extends ResourceKey {
  /** Null for no limit. */
  concurrency: number | null;
  rate: number | null;
  inUse: number;
}

export async function insertResourceSamples(
  db: Executor,
  samples: readonly ResourceSample[],
  stepMs: number,
): Promise<void> {
  if (samples.length === 0) return;
  await db.run(INSERT_RESOURCE_SAMPLES, [
    samples.map(({ name }) => name),
    samples.map(({ key }) => key),
    samples.map(({ concurrency }) => concurrency),
    samples.map(({ rate }) => rate),
    samples.map(({ inUse }) => inUse),
    stepMs,
  ]);
}

export async function pruneResourceSamples(db: Executor, keepMs: number, limit: number): Promise<number> {
  return (await db.run(PRUNE_RESOURCE_SAMPLES, [keepMs, limit])).rowCount ?? 0;
}

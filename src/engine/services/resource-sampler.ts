// Samples the limits and use of each resource at a slow rate, for charts, and deletes samples older than a day. Every
// worker with resources does it; one row per step and key is kept.
import { resourceStatus } from '../../core/limits/resource-status.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import {
  insertResourceSamples,
  pruneResourceSamples,
} from '../../store/commands/limits/insert-resource-samples.ts';
import { listResources } from '../../store/views/limits/list-resources.ts';
import type { EngineContext } from '../engine-context.ts';
import { controlOptions } from '../limits/sync-resources.ts';

/** Four samples a minute, so a resource has at most 5,760 rows. */
export const RESOURCE_SAMPLE_MS = 15_000;
/** For a process without resources, in case the processes that have them are gone. */
const IDLE_INTERVAL_MS = 10 * 60_000;
export const RESOURCE_SAMPLES_KEEP_MS = 24 * 60 * 60_000;
/** Keys per step: a large crawl has more hosts than a chart can show. */
const KEYS_MAX = 200;
const PRUNE_AT_ONCE = 5000;

export async function sampleResources({ db, settings }: EngineContext): Promise<void> {
  const options = controlOptions(settings);
  const used = (await listResources(db, null, KEYS_MAX)).filter(
    ({ idleMs }) => idleMs !== null && idleMs < RESOURCE_SAMPLE_MS * 2,
  );
  const samples = used.map((stored) => {
    const { name, key, limits, concurrencyNow, rateNow, inUse } = resourceStatus(stored, options);
    // A limit that is neither declared nor adaptive does not apply.
    const isLimited = limits?.adaptive === true || limits?.concurrency != null;
    return { name, key, concurrency: isLimited ? concurrencyNow : null, rate: rateNow, inUse };
  });
  await insertResourceSamples(db, samples, RESOURCE_SAMPLE_MS);
  await pruneResourceSamples(db, RESOURCE_SAMPLES_KEEP_MS, PRUNE_AT_ONCE);
}

export function createResourceSampler(context: EngineContext, hasResources: boolean): PeriodicService {
  return new PeriodicService({
    name: 'resource sampler',
    intervalMs: hasResources ? RESOURCE_SAMPLE_MS : IDLE_INTERVAL_MS,
    events: context.events,
    work: () => sampleResources(context),
  });
}

// Limits and use of a resource over time, in the requested number of points.
import type { operationRoutes } from '../../contract/operations.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { RESOURCE_SAMPLE_MS, RESOURCE_SAMPLES_KEEP_MS } from '../../engine/services/resource-sampler.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { isKeySeen } from '../../store/views/limits/list-resources.ts';
import { resourceHistory } from '../../store/views/limits/resource-history.ts';
import { seenBy } from '../requests/actor.ts';
import { checkStorable } from '../requests/check-storable.ts';
import type { Handler } from '../requests/handler.ts';
import { boundedTimeMs } from '../requests/wire-values.ts';

export const getResourceHistory: Handler<typeof operationRoutes.getResourceHistory> = async (
  { actor, params, query },
  { reads },
) => {
  const resource = { name: params.name, key: query.key ?? '' };
  checkStorable(resource);
  const toMs = query.to ? boundedTimeMs(query.to) : wallClockMs() + 1;
  const begin = query.from ? boundedTimeMs(query.from) : toMs - RESOURCE_SAMPLES_KEEP_MS;
  const fromMs = Math.max(0, Math.floor(begin / RESOURCE_SAMPLE_MS) * RESOURCE_SAMPLE_MS);
  if (toMs <= fromMs) throw new RowmillError('REQUEST_INVALID', 'expected `to` to be later than `from`');
  const samples = Math.ceil((toMs - fromMs) / RESOURCE_SAMPLE_MS);
  const stepMs = Math.ceil(samples / query.points) * RESOURCE_SAMPLE_MS;
  // A key of another owner has no history, like one that was never used.
  const isSeen = await isKeySeen(reads, resource, seenBy(actor));
  const steps = isSeen ? await resourceHistory(reads, resource, { fromMs, toMs, stepMs }) : [];
  return {
    stepMs,
    points: steps.map(({ atMs, ...step }) => ({ at: new Date(atMs).toISOString(), ...step })),
  };
};

// Resumes the cleanup of deleted jobs if the process that deleted them died.
import { PeriodicService } from '../../platform/periodic-service.ts';
import type { EngineContext } from '../engine-context.ts';
import { removeRemains } from '../jobs/delete-job.ts';

export function createJobRemover(context: EngineContext, signal: AbortSignal): PeriodicService {
  return new PeriodicService({
    name: 'job remover',
    intervalMs: context.settings.sweepMs,
    events: context.events,
    work: () => removeRemains(context, { signal }),
  });
}

// Runs background exports: resumes those that another process left, and deletes expired ones.
import { PeriodicService } from '../../platform/periodic-service.ts';
import type { EngineContext } from '../engine-context.ts';
import { pruneExports, runExports } from '../exports/run-exports.ts';

export function createExportRunner(context: EngineContext, signal: AbortSignal): PeriodicService {
  return new PeriodicService({
    name: 'export runner',
    intervalMs: context.settings.sweepMs,
    events: context.events,
    work: async () => {
      await runExports(context, signal);
      await pruneExports(context);
    },
  });
}

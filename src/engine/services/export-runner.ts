// Exports in the background: goes on with what another process left, and removes what has expired.
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

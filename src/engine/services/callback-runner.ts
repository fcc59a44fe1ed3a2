// Calls what pipelines want to be told about their jobs. Every worker does it for the pipelines it knows; different
// pipelines do not wait for each other.
import type { Logger } from '../../platform/logger.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { insertPhasesDone, removeUnwantedCallbacks } from '../../store/commands/insert-callbacks.ts';
import type { EngineContext } from '../engine-context.ts';
import type { PipelineWithCallbacks } from '../pipeline-callbacks.ts';
import { runCallback, wantedKinds } from '../run-callback.ts';

const LOOK_MS = 1000;

export async function runCallbacks(
  context: EngineContext,
  pipelines: readonly PipelineWithCallbacks[],
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    pipelines.map(async (pipeline) => {
      const { name, version } = pipeline;
      const { wanted, unwanted } = wantedKinds(pipeline);
      if (unwanted.length > 0) await removeUnwantedCallbacks(context.db, name, version, unwanted);
      if (wanted.includes('phaseDone')) await insertPhasesDone(context.db, name, version);
      if (wanted.length > 0)
        while (!signal.aborted && (await runCallback(context, { pipeline, log, signal })));
    }),
  );
}

export function createCallbackRunner(
  context: EngineContext,
  pipelines: readonly PipelineWithCallbacks[],
  log: Logger,
  signal: AbortSignal,
): PeriodicService {
  return new PeriodicService({
    name: 'callback runner',
    intervalMs: LOOK_MS,
    events: context.events,
    work: () => runCallbacks(context, pipelines, log, signal),
  });
}

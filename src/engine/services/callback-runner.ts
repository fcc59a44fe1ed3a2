// Runs due callbacks of pipelines. Every worker does it for the pipelines it knows; pipelines do not wait for each
// other.

import type { Logger } from '../../platform/logger.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { insertPhasesDone, removeUnwantedCallbacks } from '../../store/commands/jobs/insert-callbacks.ts';
import { findDueCallbacks } from '../../store/views/jobs/find-due-callbacks.ts';
import type { EngineContext } from '../engine-context.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { runCallback, wantedKinds } from '../jobs/run-callback.ts';

const LOOK_MS = 1000;
/** Pipelines without callbacks only delete those that an earlier version left. */
const IDLE_LOOK_MS = 60_000;

export async function runCallbacks(
  context: EngineContext,
  pipelines: readonly Pipeline[],
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const { db } = context;
  for (const { name, version, callbacks } of pipelines)
    if (callbacks.onPhaseDone) await insertPhasesDone(db, name, version);
  const names = new Set(pipelines.map(({ name }) => name));
  const due = await findDueCallbacks(db, [...names]);
  await Promise.all(
    pipelines
      .filter(({ name }) => due.has(name))
      .map(async (pipeline) => {
        const { wanted, unwanted } = wantedKinds(pipeline);
        if (unwanted.length > 0) await removeUnwantedCallbacks(db, pipeline.name, pipeline.version, unwanted);
        if (wanted.length === 0) return;
        while (!signal.aborted && (await runCallback(context, { pipeline, log, signal })));
      }),
  );
}

export function createCallbackRunner(
  context: EngineContext,
  pipelines: readonly Pipeline[],
  log: Logger,
  signal: AbortSignal,
): PeriodicService {
  return new PeriodicService({
    name: 'callback runner',
    intervalMs: pipelines.some((each) => wantedKinds(each).wanted.length > 0) ? LOOK_MS : IDLE_LOOK_MS,
    events: context.events,
    work: () => runCallbacks(context, pipelines, log, signal),
  });
}

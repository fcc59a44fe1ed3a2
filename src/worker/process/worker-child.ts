// The child process that runs user code. Its parent sends it what to run and when to stop. If the parent is gone, the
// child shuts down cleanly.

import { loadPipelines } from '../../pipeline/load-pipelines.ts';
import { createLogger } from '../../platform/logger.ts';
import { serveMetrics } from '../../platform/serve-metrics.ts';
import { toRowmillError } from '../../platform/to-rowmill-error.ts';
import { RowmillWorker } from '../worker.ts';
import { FRESH_PROCESS_CODE, type FromChild, type ToChild } from './supervise-worker.ts';

let worker: RowmillWorker | null = null;
let stopping = false;

function tell(message: FromChild, then: () => void = () => {}): void {
  if (process.connected) process.send!(message, then);
  else then();
}

async function start(message: Extract<ToChild, { kind: 'start' }>): Promise<void> {
  const pipelines = await loadPipelines(message.modules);
  worker = new RowmillWorker({
    databaseUrl: message.databaseUrl,
    pipelines,
    settings: message.settings,
    name: message.name,
    log: createLogger(message.logLevel),
    killWhenStuck: true,
  });
  worker.events.on('handlers.stuck', () => void stop(undefined, FRESH_PROCESS_CODE));
  tell({ kind: 'worker', workerId: worker.workerId });
  const served = message.metrics ? await serveMetrics(worker.metrics.registry, message.metrics) : null;
  await worker.start();
  tell({ kind: 'started', metricsUrl: served?.url ?? null });
}

/** A second stop may shorten the drain of the first. */
async function stop(drainMs?: number, code = 0): Promise<void> {
  const stopped = worker?.stop(drainMs === undefined ? {} : { drainMs });
  if (stopping) return;
  stopping = true;
  tell({ kind: 'leaving' });
  const report = await stopped;
  const unpersisted = report?.unpersisted.reduce((sum, left) => sum + left.items, 0) ?? 0;
  process.exit(unpersisted > 0 ? 3 : code);
}

process.on('message', (message: ToChild) => {
  if (message.kind === 'stop') void stop(message.drainMs);
  else {
    start(message).catch((error: unknown) => {
      const { code, message: text, hint } = toRowmillError(error);
      tell({ kind: 'failed', code, message: text, hint }, () => process.exit(2));
    });
  }
});
process.on('disconnect', () => void stop());
// Terminal signals reach the whole process group. Ignore them here: the parent handles them.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});

// rowmill worker: runs worker processes until stopped.
import { contextOf, openRowmill } from '../../open-rowmill.ts';
import type { MetricsAddress } from '../../platform/serve-metrics.ts';
import { SupervisedWorker } from '../../worker/process/supervise-worker.ts';
import { eventLines } from '../event-lines.ts';
import { choosePipelines } from '../load-pipeline.ts';
import { commandSettings, openServer, type ServerOptions, sayDatabaseWait } from '../open-server.ts';
import { listenForStop } from '../stop-signals.ts';

export interface WorkerCommandOptions extends ServerOptions {
  processes?: number;
  metricsPort?: number;
  metricsHost?: string;
  logLevel?: string;
  json?: boolean;
}

export async function runWorkers(references: string[], options: WorkerCommandOptions): Promise<number> {
  const say = eventLines(options.json);
  const settings = await commandSettings(options);
  const { modules, pipelines } = await choosePipelines(references);
  const server = await openServer(options, say);
  const rowmill = await openRowmill({ databaseUrl: server.url, settings, onDatabaseWait: sayDatabaseWait });
  const workers = Array.from(
    { length: options.processes ?? 1 },
    (_, index) =>
      new SupervisedWorker({
        context: contextOf(rowmill),
        modules,
        ...(options.logLevel === undefined ? {} : { logLevel: options.logLevel }),
        ...metricsOf(options, index),
        onCrash: (how) => say(`A worker process exited with ${how} and was replaced`),
      }),
  );
  const stop = listenForStop(() => {
    for (const worker of workers) worker.kill();
  }, say);
  try {
    await Promise.all(workers.map((worker) => worker.start()));
    const names = pipelines.map((pipeline) => pipeline.name);
    say(
      `${workers.length} worker ${workers.length === 1 ? 'process' : 'processes'} for ${names.join(', ')} on ${server.description}`,
      'started',
      { processes: workers.length, pipelines: names },
    );
    for (const { metricsUrl: url } of workers) if (url !== null) say(`Metrics at ${url}`, 'metrics', { url });
    if (!stop.signal.aborted)
      await new Promise<void>((resolve) =>
        stop.signal.addEventListener('abort', () => resolve(), { once: true }),
      );
    const inOrder = await Promise.all(workers.map((worker) => worker.stop()));
    if (inOrder.every(Boolean)) return 0;
    say('Some results could not be stored: their rows will run again');
    return 1;
  } finally {
    for (const worker of workers) worker.kill();
    stop.dispose();
    await rowmill.close();
    await server.stop();
  }
}

/** Each process uses its own port, counting up from the given one. */
function metricsOf(
  { metricsPort, metricsHost = '127.0.0.1' }: WorkerCommandOptions,
  index: number,
): { metrics?: MetricsAddress } {
  if (metricsPort === undefined) return {};
  return { metrics: { host: metricsHost, port: metricsPort === 0 ? 0 : metricsPort + index } };
}

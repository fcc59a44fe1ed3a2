// rowmill worker: run workers until told to stop.
import { contextOf, openRowmill } from '../../open-rowmill.ts';
import type { MetricsAddress } from '../../platform/serve-metrics.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { loadPipelines } from '../../pipeline/load-pipelines.ts';
import { SupervisedWorker } from '../../worker/process/supervise-worker.ts';
import { commandSettings, openServer, type ServerOptions, sayDatabaseWait } from '../open-server.ts';
import { listenForStop } from '../stop-signals.ts';

export interface WorkerCommandOptions extends ServerOptions {
  processes?: number;
  metricsPort?: number;
  metricsHost?: string;
  logLevel?: string;
}

/** Runs beside the workers: started before them, so that a port that is taken starts none, and stopped before them. */
export type StartBeside = (
  databaseUrl: string,
  pipelines: Pipeline[],
  say: (line: string) => void,
) => Promise<{ stop(): Promise<void> }>;

export async function runWorkers(
  modules: string[],
  options: WorkerCommandOptions,
  startBeside?: StartBeside,
): Promise<number> {
  const say = (line: string): void => console.error(line);
  const settings = commandSettings(options);
  const pipelines = await loadPipelines(modules);
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
        onCrash: (how) => say(`the worker process ended with ${how} and was replaced`),
      }),
  );
  const stop = listenForStop(() => {
    for (const worker of workers) worker.kill();
  }, say);
  let beside: { stop(): Promise<void> } | undefined;
  try {
    beside = await startBeside?.(server.url, pipelines, say);
    await Promise.all(workers.map((worker) => worker.start()));
    say(
      `${workers.length} worker ${workers.length === 1 ? 'process' : 'processes'} for ${pipelines.map((pipeline) => pipeline.name).join(', ')} on ${server.description}`,
    );
    for (const { metricsUrl } of workers) if (metricsUrl !== null) say(`metrics at ${metricsUrl}`);
    if (!stop.signal.aborted)
      await new Promise<void>((resolve) =>
        stop.signal.addEventListener('abort', () => resolve(), { once: true }),
      );
    await beside?.stop();
    beside = undefined;
    const inOrder = await Promise.all(workers.map((worker) => worker.stop()));
    if (inOrder.every(Boolean)) return 0;
    say('not everything was persisted: the items concerned will run again');
    return 1;
  } finally {
    for (const worker of workers) worker.kill();
    await beside?.stop();
    stop.dispose();
    await rowmill.close();
    await server.stop();
  }
}

/** Each process has a port of its own, from the given one on. */
function metricsOf(
  { metricsPort, metricsHost = '127.0.0.1' }: WorkerCommandOptions,
  index: number,
): { metrics?: MetricsAddress } {
  if (metricsPort === undefined) return {};
  return { metrics: { host: metricsHost, port: metricsPort === 0 ? 0 : metricsPort + index } };
}

// The thread that runs the handler of a CPU-bound phase. It loads the pipeline's module itself and takes one item at a
// time through the same steps as the main thread. It sends back only the recorded outcome.
import { parentPort, workerData } from 'node:worker_threads';
import { loadPipelines } from '../../pipeline/load-pipelines.ts';
import { schemaOf } from '../../pipeline/phase-place.ts';
import { openBlobStore } from '../../platform/blob-store/open-blob-store.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import { ResultColumns } from '../flush/result-columns.ts';
import type { Lease } from '../leases/lease.ts';
import type { FromHandlerThread, HandlerThreadData, ToHandlerThread } from './handler-threads.ts';
import { type PhaseRuntime, runItem } from './run-item.ts';
import { type ItemServices, RunningItem } from './running-item.ts';

const data = workerData as HandlerThreadData;
let running: RunningItem | null = null;

function tell(message: FromHandlerThread): void {
  parentPort!.postMessage(message);
}

/** Room of the running call for lines that the main thread has to hold. */
let room = { lines: 0, length: 0 };

/**
 * Sends log lines to the main thread, which has the logger and keeps them in case that this thread ends without an outcome.
 * Lines over the limits of an attempt stay here: the main thread could not write them as fast as a handler may log.
 */
function forwardingLogger(common: object): Logger {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (given: object, message: string): void => {
      if (room.lines <= 0) return;
      room.lines -= 1;
      const text = message.slice(0, room.length);
      const fields = plainFields({ ...common, ...given }, room.length - text.length);
      room.length -= text.length + fields.length;
      tell({ kind: 'log', level, fields, message: text });
      if (room.length <= 0) room.lines = 0;
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (fields) => forwardingLogger({ ...common, ...fields }),
  };
}

/** The fields as JSON; none if they have no JSON or are too long. */
function plainFields(fields: object, maxLength: number): string {
  try {
    const json = JSON.stringify(fields);
    return json.length <= maxLength ? json : '{}';
  } catch {
    return '{}';
  }
}

async function loadRuntime(): Promise<PhaseRuntime> {
  const pipelines = await loadPipelines([data.module]);
  const pipeline = pipelines.find(({ name, version }) => name === data.pipeline && version === data.version);
  const phase = pipeline?.phases.find(({ name }) => name === data.phase);
  if (!pipeline || !phase?.run)
    throw new Error(
      `${data.module}, loaded in a thread, does not export pipeline ${data.pipeline} with phase ${data.phase}`,
    );
  return {
    ...data.shared,
    pipeline,
    phase,
    schema: schemaOf(pipeline, phase),
    columns: new ResultColumns(data.maxColumns),
    ...(data.tellsThrown && { onThrown: (thrown) => tell({ kind: 'thrown', thrown }) }),
  };
}

const runtime = await loadRuntime();
const services: ItemServices = { log: forwardingLogger({}), blobs: openBlobStore(data.blobStore), runtime };

function run({ claim, claimed, charge }: Extract<ToHandlerThread, { kind: 'run' }>): void {
  // A running item reads only these fields of its lease.
  const lease = { claim, knownColumns: null } as unknown as Lease;
  running = new RunningItem(lease, claimed, monotonicMs(), services);
  running.charge = charge;
  room = { lines: runtime.limits.logMaxLines, length: runtime.limits.logMaxBytes };
  runItem(runtime, running, (_, outcome) => {
    running = null;
    tell({ kind: 'outcome', outcome });
  });
}

parentPort!.on('message', (message: ToHandlerThread) => {
  if (message.kind === 'run') run(message);
  else running?.abort(new Error(message.reason));
});
tell({ kind: 'ready' });

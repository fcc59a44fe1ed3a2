// rowmill run <pipeline> <file>: store the rows, process them here, leave the results as a file.
import { basename, extname } from 'node:path';
import { RowmillError } from '../../core/rowmill-error.ts';
import { writeCsv } from '../../export/write-csv.ts';
import { writeJsonLines } from '../../export/write-jsonl.ts';
import { readRows } from '../../ingest/read-rows.ts';
import { openRowmill, type Rowmill } from '../../open-rowmill.ts';
import { loadSettings } from '../../platform/settings.ts';
import { failIngest } from '../../store/commands/fail-ingest.ts';
import type { Pipeline } from '../../worker/define-pipeline.ts';
import { loadPipelines } from '../../worker/load-pipelines.ts';
import { SupervisedWorker } from '../../worker/supervise-worker.ts';
import { findJob } from '../find-job.ts';
import { followJob } from '../follow-job.ts';
import { openServer, type ServerOptions } from '../open-server.ts';
import { listenForStop } from '../stop-signals.ts';

export interface RunOptions extends ServerOptions {
  follow?: boolean;
  out?: string;
  /** Commander's --no-worker. */
  worker?: boolean;
  resume?: string;
  /** Commander's --set. */
  set?: Record<string, unknown>;
}

export async function run(
  pipelineRef: string,
  file: string | undefined,
  options: RunOptions,
): Promise<number> {
  const say = (line: string): void => console.error(line);
  const settings = loadSettings({ flags: options.set ?? {} });
  const [modulePath, name] = splitReference(pipelineRef);
  const pipeline = choosePipeline(await loadPipelines([modulePath]), modulePath, name);
  if (file === undefined && options.resume === undefined) {
    throw new RowmillError('FILE_INVALID', 'expected a file of rows', {
      hint: 'rowmill run <pipeline> <file>',
    });
  }
  const rows = file === undefined ? null : readRows(file);
  const server = await openServer(options, say);
  const rowmill = await openRowmill({ databaseUrl: server.url, settings });
  let crashNotice: string | undefined;
  const worker =
    options.worker === false
      ? null
      : new SupervisedWorker({
          context: rowmill.context,
          modules: [modulePath],
          onCrash: (how) => {
            crashNotice = `the worker process ended with ${how} and was replaced (${worker?.crashes} so far)`;
          },
        });
  const stop = listenForStop(() => worker?.kill(), say);
  try {
    const { jobId, stored } = await openJob(rowmill, pipeline, file, options.resume);
    console.error(`job ${jobId} on ${server.description}`);
    await worker?.start();
    const ingest = rows ? ingestRows(rowmill, jobId, rows, stored, stop.signal) : Promise.resolve();
    ingest.catch(() => {});
    const live = options.follow === true;
    const summary =
      worker || live
        ? await followJob(rowmill, jobId, { signal: stop.signal, live, notice: () => crashNotice })
        : null;
    await ingest;
    await worker?.stop();
    if (!summary) {
      if (stop.signal.aborted)
        console.error(`stopped. Nothing is lost: rowmill run ${pipelineRef} ${file ?? ''} --resume ${jobId}`);
      else console.log(jobId);
      return stop.signal.aborted ? 130 : 0;
    }
    if (options.out) {
      const count = await writeResults(options.out, rowmill, jobId);
      console.log(`${count} rows written to ${options.out}`);
    }
    return 0;
  } finally {
    worker?.kill();
    stop.dispose();
    await rowmill.close();
    await server.stop();
  }
}

async function openJob(
  rowmill: Rowmill,
  pipeline: Pipeline,
  file: string | undefined,
  resume: string | undefined,
): Promise<{ jobId: string; stored: number }> {
  if (resume === undefined) {
    const { jobId } = await rowmill.createJob(pipeline, { name: basename(file ?? '') });
    return { jobId, stored: 0 };
  }
  const job = await findJob(rowmill, resume);
  if (job.pipeline !== pipeline.name) {
    throw new RowmillError(
      'JOB_CONFLICT',
      `job ${job.jobId} belongs to pipeline ${job.pipeline}, not ${pipeline.name}`,
      {
        hint: 'Name the pipeline the job was started with.',
      },
    );
  }
  return { jobId: job.jobId, stored: job.itemCount };
}

/** Batches commit whole, so the stored count says exactly which rows are still missing. */
async function ingestRows(
  rowmill: Rowmill,
  jobId: string,
  rows: AsyncIterable<unknown>,
  stored: number,
  signal: AbortSignal,
): Promise<void> {
  if ((await rowmill.job(jobId)).sealedAt !== null) return;
  async function* untilStopped(): AsyncGenerator<unknown> {
    for await (const row of rows) {
      if (signal.aborted) return;
      yield row;
    }
  }
  try {
    await rowmill.addItems(jobId, untilStopped(), { resumeAfter: stored });
    if (!signal.aborted) await rowmill.sealJob(jobId);
  } catch (error) {
    if (error instanceof RowmillError) await failIngest(rowmill.context.db, jobId, error.message);
    throw error;
  }
}

export async function writeResults(path: string, rowmill: Rowmill, jobId: string): Promise<number> {
  const rows = rowmill.results(jobId);
  if (extname(path) === '.jsonl') return writeJsonLines(path, rows);
  return writeCsv(path, rows);
}

/** `./prices.ts#price-lookup` names one pipeline of a module. */
function splitReference(reference: string): [path: string, name: string | null] {
  const at = reference.lastIndexOf('#');
  return at > 0 ? [reference.slice(0, at), reference.slice(at + 1)] : [reference, null];
}

function choosePipeline(pipelines: Pipeline[], path: string, name: string | null): Pipeline {
  const found = name === null ? pipelines : pipelines.filter((pipeline) => pipeline.name === name);
  if (found.length === 1) return found[0]!;
  const names = pipelines.map((pipeline) => pipeline.name).join(', ');
  throw new RowmillError(
    'PIPELINE_NOT_FOUND',
    found.length === 0
      ? `${path} has no pipeline ${name}; it has ${names}`
      : `${path} has several pipelines: ${names}`,
    { hint: `Name one of them: ${path}#${pipelines[0]!.name}` },
  );
}

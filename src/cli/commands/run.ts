// rowmill run <pipeline> <files…>: store the rows, process them here, leave the results as a file.
import { isFinished } from '../../core/job-state.ts';
import { RowmillError } from '../../core/rowmill-error.ts';
import type { Rowmill } from '../../open-rowmill.ts';
import { isDumbTerminal } from '../../platform/environment.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import type { Job } from '../../store/views/read-job.ts';
import type { Pipeline } from '../../worker/define-pipeline.ts';
import { SupervisedWorker } from '../../worker/supervise-worker.ts';
import { checkOutputPath } from '../check-output-path.ts';
import { describeDiff } from '../describe-diff.ts';
import { describeColumns, describeFormat, describeLeftOut, describeReport } from '../describe-file.ts';
import { type FileOptions, formatOptions } from '../file-options.ts';
import { findJob } from '../find-job.ts';
import { followJob } from '../follow-job.ts';
import { formatOfPath, STANDARD_OUTPUT } from '../format-of-path.ts';
import { choosePipeline, modulePathOf } from '../load-pipeline.ts';
import type { ServerOptions } from '../open-server.ts';
import { formatCount, printable } from '../progress-lines.ts';
import { directPort } from '../remote/direct-port.ts';
import { listenForStop } from '../stop-signals.ts';
import { withRowmill } from '../with-rowmill.ts';
import { WorkerOutput } from '../worker-output.ts';
import { writeResults } from '../write-results.ts';

export interface RunOptions extends ServerOptions, FileOptions {
  follow?: boolean;
  out?: string;
  /** Commander's --no-worker. */
  worker?: boolean;
  resume?: string;
  again?: boolean;
  hold?: boolean;
  trial?: number;
  budget?: number;
  budgetPerItem?: number;
  update?: string;
  key?: string[];
  owner?: string;
  priority?: number;
  params?: object;
}

const say = (line: string): void => console.error(line);

export async function run(pipelineRef: string, files: string[], options: RunOptions): Promise<number> {
  const pipeline = await choosePipeline(pipelineRef);
  if (files.length === 0 && options.resume === undefined) {
    throw new RowmillError('FILE_INVALID', 'expected a file of rows', {
      hint: 'rowmill run <pipeline> <file>',
    });
  }
  if (files.length > 0 && options.resume !== undefined) {
    throw new RowmillError('FILE_INVALID', `expected a file or --resume, got both: ${files.join(', ')}`, {
      hint: 'A job that is gone on with has its file already.',
    });
  }
  // Before anything is paid for.
  if (options.out !== undefined) checkOutputFile(options.out);
  return withRowmill(
    options,
    (rowmill, server) => runHere(rowmill, server.description, { pipelineRef, pipeline, files, options }),
    { say },
  );
}

/** A person sees what is written to either stream, in the same place. */
function isTerminal(): boolean {
  return process.stdout.isTTY === true && process.stderr.isTTY === true && !isDumbTerminal();
}

function checkOutputFile(path: string): void {
  if (path === STANDARD_OUTPUT)
    throw new RowmillError('EXPORT_INVALID', 'expected --out to name a file, got -', {
      hint: 'rowmill export <job> --out - writes to standard output.',
    });
  formatOfPath(path);
  checkOutputPath(path);
}

interface RunRequest {
  pipelineRef: string;
  pipeline: Pipeline;
  files: string[];
  options: RunOptions;
}

async function runHere(
  rowmill: Rowmill,
  description: string,
  { pipelineRef, pipeline, files, options }: RunRequest,
): Promise<number> {
  let crashNotice: string | undefined;
  const output = options.follow && isTerminal() ? new WorkerOutput() : undefined;
  const worker =
    options.worker === false
      ? null
      : new SupervisedWorker({
          context: rowmill.context,
          modules: [modulePathOf(pipelineRef)],
          ...(output && { onOutput: (text: string) => output.write(text) }),
          onCrash: (how) => {
            crashNotice = `the worker process ended with ${how} and was replaced (${worker?.crashes} so far)`;
          },
        });
  const stop = listenForStop(() => worker?.kill(), say);
  try {
    const jobId = await openJob(rowmill, pipeline, files, options, stop.signal);
    say(`job ${jobId} on ${description}`);
    await worker?.start();
    const ingest = readFile(rowmill, jobId, pipeline, stop.signal);
    ingest.catch(() => {});
    const live = options.follow === true;
    const end =
      worker || live
        ? await followJob(directPort(rowmill, description), jobId, {
            signal: stop.signal,
            live,
            notice: () => crashNotice,
            output,
          })
        : null;
    await ingest;
    await worker?.stop();
    const summary = end?.how === 'over' ? await retryPassing(() => rowmill.summary(jobId)) : null;
    const job = await retryPassing(() => rowmill.job(jobId));
    const report = describeReport(job.ingestReport);
    if (report) say(report);
    const leftOut = describeLeftOut(job.ingestReport);
    if (leftOut) say(leftOut);
    if (summary?.diff) say(describeDiff(summary.diff));
    if (!summary) return endWithout(job, pipelineRef, stop.signal.aborted, await whyHeld(rowmill, job));
    if (options.out) {
      const count = await writeResults(options.out, rowmill, jobId);
      console.log(`${count} rows written to ${options.out}`);
    }
    return 0;
  } finally {
    worker?.kill();
    output?.end();
    stop.dispose();
  }
}

/** Why a job stands still although nothing is wrong with it. */
async function whyHeld(rowmill: Rowmill, { jobId, state, pausedBecause }: Job): Promise<string | null> {
  if (state === 'PAUSED') return pausedBecause ? `the job is paused: ${pausedBecause}` : 'the job is paused';
  const { held } = await rowmill.progress(jobId);
  return held > 0 ? `${formatCount(held)} rows are held` : null;
}

function endWithout(job: Job, pipelineRef: string, stopped: boolean, held: string | null): number {
  if (job.state === 'FAILED') {
    say(`job ${job.jobId} failed: ${printable(job.lastError ?? '')}`);
    return 1;
  }
  if (stopped) {
    say(`stopped. Nothing is lost: rowmill run ${pipelineRef} --resume ${job.jobId}`);
    return 130;
  }
  if (held !== null) say(`${held}: rowmill resume ${job.jobId}`);
  console.log(job.jobId);
  return 0;
}

async function openJob(
  rowmill: Rowmill,
  pipeline: Pipeline,
  files: string[],
  options: RunOptions,
  signal: AbortSignal,
): Promise<string> {
  if (options.resume !== undefined) return resumedJob(rowmill, pipeline, options.resume);
  const submitted = await rowmill.submitFile(pipeline, files, {
    format: formatOptions(options),
    mapping: options.map ?? {},
    ...(options.params !== undefined && { params: options.params }),
    ...(options.key && { key: options.key }),
    ...(options.owner !== undefined && { ownerId: options.owner }),
    ...(options.priority !== undefined && { priority: options.priority }),
    ...(options.update !== undefined && { updatesJobId: (await findJob(rowmill, options.update)).jobId }),
    ...(options.again && { again: true }),
    ...(options.hold && { hold: true }),
    ...(options.trial !== undefined && { trial: options.trial }),
    ...(isBudgeted(options) && {
      budget: { max: options.budget ?? null, perItem: options.budgetPerItem ?? null },
    }),
    signal,
  });
  const { source, columns, ignoredColumns, created, jobId } = submitted;
  say(`${printable(source.name)}: ${describeFormat(source.detected)}`);
  say(describeColumns(columns));
  if (ignoredColumns.length > 0) say(`not stored: ${ignoredColumns.join(', ')}`);
  for (const warning of source.detected.warnings) say(`note: ${printable(warning)}`);
  if (!created) say('this file was given before: going on with its job (--again starts a new one)');
  return jobId;
}

function isBudgeted({ budget, budgetPerItem }: RunOptions): boolean {
  return budget !== undefined || budgetPerItem !== undefined;
}

async function resumedJob(rowmill: Rowmill, pipeline: Pipeline, prefix: string): Promise<string> {
  const job = await findJob(rowmill, prefix);
  if (job.pipeline === pipeline.name) return job.jobId;
  throw new RowmillError(
    'JOB_CONFLICT',
    `job ${job.jobId} belongs to pipeline ${job.pipeline}, not ${pipeline.name}`,
    {
      hint: 'Name the pipeline the job was started with.',
    },
  );
}

async function readFile(
  rowmill: Rowmill,
  jobId: string,
  pipeline: Pipeline,
  signal: AbortSignal,
): Promise<void> {
  const { sealedAt, source, state } = await retryPassing(() => rowmill.job(jobId), { signal });
  if (sealedAt !== null || source === null || isFinished(state)) return;
  await rowmill.ingest(jobId, pipeline, { signal, onWait: say });
}

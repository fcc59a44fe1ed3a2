// rowmill run <pipeline> <files…>: stores the rows, runs them here, and writes the results to a file.
import { relative } from 'node:path';
import { isFinished } from '../../core/jobs/job-state.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { contextOf, type Rowmill } from '../../open-rowmill.ts';
import { isDumbTerminal } from '../../platform/environment.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { SupervisedWorker } from '../../worker/process/supervise-worker.ts';
import { checkOutputPath } from '../check-output-path.ts';
import { changeBudget, continueJob } from '../continue-job.ts';
import { describeDiff } from '../describe-diff.ts';
import { describeColumns, describeFormat, describeLeftOut, describeReport } from '../describe-file.ts';
import { rows, stopLines } from '../describe-stop.ts';
import { EXIT, exitCodeOf } from '../exit-codes.ts';
import { type FileOptions, readFormatOptions } from '../file-options.ts';
import { findJob } from '../find-job.ts';
import { type FollowEnd, showProgress, standsStill } from '../show-progress.ts';
import { formatOfPath, STANDARD_OUTPUT } from '../format-of-path.ts';
import { choosePipeline, moduleFile } from '../load-pipeline.ts';
import { dataFolder, type ServerOptions } from '../open-server.ts';
import { printedCommand } from '../printed-command.ts';
import { printable } from '../progress-lines.ts';
import { chooseTarget } from '../remote/choose-target.ts';
import { directPort } from '../remote/direct-port.ts';
import { printChanges, progressOf } from '../print-changes.ts';
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
  json?: boolean;
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
      hint: 'A resumed job already has its file.',
    });
  }
  // Checked before any call costs money.
  if (options.out !== undefined) checkOutputFile(options.out);
  return withRowmill(
    options,
    (rowmill, server) => runHere(rowmill, server.description, { pipelineRef, pipeline, files, options }),
    { say, create: true },
  );
}

/** True if both output streams go to a terminal. */
function isTerminal(): boolean {
  return process.stdout.isTTY === true && process.stderr.isTTY === true && !isDumbTerminal();
}

function checkOutputFile(path: string): void {
  if (path === STANDARD_OUTPUT)
    throw new RowmillError('EXPORT_INVALID', 'expected --out to name a file, got -', {
      hint: 'rowmill jobs export <job> --out - writes to standard output.',
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

async function runHere(rowmill: Rowmill, description: string, request: RunRequest): Promise<number> {
  const { pipelineRef, pipeline, options } = request;
  let crashNotice: string | undefined;
  const output = options.follow && !options.json && isTerminal() ? new WorkerOutput() : undefined;
  const worker =
    options.worker === false
      ? null
      : new SupervisedWorker({
          context: contextOf(rowmill),
          modules: [moduleFile(pipeline)],
          ...(output && { onOutput: (text: string) => output.write(text) }),
          onCrash: (how) => {
            crashNotice = `the worker process exited with ${how} and was replaced (${worker?.crashes} so far)`;
          },
        });
  const stop = listenForStop(() => worker?.kill(), say);
  try {
    const jobId = await openJob(rowmill, request, stop.signal);
    say(`Job ${jobId} on ${description}`);
    await worker?.start();
    const ingest = readFile(rowmill, jobId, pipeline, stop.signal);
    ingest.catch(() => {});
    const live = options.follow === true;
    const end =
      worker || live
        ? await (options.json ? printChanges : showProgress)(directPort(rowmill, description), jobId, {
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
    const written = summary && options.out ? await writeResults(options.out, rowmill, jobId) : null;
    if (written !== null && !options.json) console.log(`${rows(written)} written to ${options.out}`);
    if (end === null) {
      console.log(options.json ? JSON.stringify({ jobId }) : jobId);
      return EXIT.ok;
    }
    sayEnd(end, pipelineRef, options);
    if (options.json)
      console.log(
        JSON.stringify({
          ...progressOf(end.job),
          out: written === null ? null : options.out,
          rowsWritten: written,
        }),
      );
    return exitCodeOf(end, options);
  } finally {
    worker?.kill();
    output?.end();
    stop.dispose();
  }
}

/** Printed commands must work when copied: with a worker, on the same database, with the same output file. */
function sayEnd({ how, job }: FollowEnd, pipelineRef: string, options: RunOptions): void {
  const { jobId, state, lastError, counts } = job;
  const resume = resumeWords(pipelineRef, jobId, options);
  if (state === 'FAILED') say(`Job ${jobId} failed: ${printable(lastError ?? '')}`);
  else if (how === 'stopped')
    say(`Stopped. Nothing is lost. Resume with: ${printedCommand(resume, options)}`);
  else if (how === 'waits') {
    for (const line of stopLines(job, resume, options)) say(line);
    if (!options.json) console.log(jobId);
  } else if (counts.ERROR > 0) {
    const where = onDatabase(options);
    const reprocess = ['rows', 'rerun', jobId, '--status', 'ERROR', '--include-permanent'];
    say(
      `${rows(counts.ERROR)} failed. List the errors with: ${printedCommand(['jobs', 'errors', jobId], where)}`,
    );
    say('Rerun them after a correction with:');
    say(`  ${printedCommand(reprocess, where)}`);
    say(`  ${printedCommand(resume, options)}`);
  }
}

/** Forces the database for a command that might otherwise use a server. */
function onDatabase(options: RunOptions): RunOptions {
  return chooseTarget(options).kind === 'api'
    ? { ...options, dataDir: relative(process.cwd(), dataFolder()) }
    : options;
}

function resumeWords(pipelineRef: string, jobId: string, { follow, out }: RunOptions): string[] {
  return [
    ...['run', pipelineRef, '--resume', jobId],
    ...(follow ? ['--follow'] : []),
    ...(out === undefined ? [] : ['--out', out]),
  ];
}

async function openJob(
  rowmill: Rowmill,
  { pipelineRef, pipeline, files, options }: RunRequest,
  signal: AbortSignal,
): Promise<string> {
  if (options.resume !== undefined)
    return resumedJob(rowmill, { pipelineRef, pipeline, options }, options.resume);
  const submitted = await rowmill.createFileJob(pipeline, files, {
    format: readFormatOptions(options),
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
  if (ignoredColumns.length > 0) say(`Not stored: ${ignoredColumns.join(', ')}`);
  for (const warning of source.detected.warnings) say(`note: ${printable(warning)}`);
  if (!created) {
    const { state } = await rowmill.job(jobId);
    say(
      isFinished(state)
        ? `This file was submitted before, and its job is finished: no row runs. Rerun unsuccessful rows with: ${printedCommand(['rows', 'rerun', jobId], onDatabase(options))} (--again creates a new job)`
        : 'This file was submitted before: continuing its job (--again creates a new one)',
    );
    if (isBudgeted(options) && !isFinished(state))
      say(
        `note: its budget is unchanged. Change it with: ${printedCommand(['jobs', 'resume', jobId, '--budget', String(options.budget ?? '<amount>')], options)}`,
      );
  }
  return jobId;
}

function isBudgeted({ budget, budgetPerItem }: RunOptions): boolean {
  return budget !== undefined || budgetPerItem !== undefined;
}

/** Resumes a paused or held job. A job that a signal or a crash interrupted needs only a worker. */
async function resumedJob(
  rowmill: Rowmill,
  { pipelineRef, pipeline, options }: Omit<RunRequest, 'files'>,
  prefix: string,
): Promise<string> {
  const { jobId, pipeline: name } = await findJob(rowmill, prefix);
  if (name !== pipeline.name)
    throw new RowmillError('JOB_CONFLICT', `job ${jobId} belongs to pipeline ${name}, not ${pipeline.name}`, {
      hint: 'Name the pipeline the job was started with.',
    });
  const port = directPort(rowmill, '');
  await changeBudget(port, jobId, options);
  const words = resumeWords(pipelineRef, jobId, options);
  if (standsStill(await port.job(jobId))) await continueJob(port, jobId, { words, where: options });
  return jobId;
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

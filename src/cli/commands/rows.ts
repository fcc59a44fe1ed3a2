// rowmill rows retry <job> <row>: tries one row of a job again; with --promote as its next run, so that the outcome is
// stored.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { waitMs } from '../../platform/clock.ts';
import { EXIT } from '../exit-codes.ts';
import { choosePipeline } from '../load-pipeline.ts';
import { printedCommand } from '../printed-command.ts';
import { printable } from '../progress-lines.ts';
import { findConfigFile } from '../project-config.ts';
import { chooseTarget } from '../remote/choose-target.ts';
import { ANY_ATTEMPTS, type JobPort, type ShownJob, type StoredRow } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { howItIs } from '../show-progress.ts';
import { listenForStop } from '../stop-signals.ts';
import { invalid, noSuchRow } from '../try/choose-row.ts';
import { valueLines } from '../try/trace-lines.ts';
import { type TryOptions, tryOneRow } from './try.ts';

export interface RetryRowOptions extends TryOptions {
  pipeline?: string;
  promote?: boolean;
}

/** Time of one slice, after which Ctrl-C is noticed at the latest. */
const SLICE_MS = 5000;

export async function retryRow(job: string, row: number, options: RetryRowOptions): Promise<number> {
  const { pipeline, promote, ...rest } = options;
  if (promote) return promoteRow(job, row, options);
  const reference = pipeline ?? (await pipelineOf(job, options));
  return tryOneRow(reference, undefined, { ...rest, from: job, row });
}

/** The name of the job's pipeline, which rowmill.config.ts resolves. */
async function pipelineOf(job: string, options: RetryRowOptions): Promise<string> {
  if (findConfigFile() === null)
    throw invalid(
      'expected --pipeline, whose handlers to run',
      'Name its module: --pipeline ./prices.ts#prices. With --promote, workers run the row.',
    );
  let name = '';
  await withPort(options, async (port) => {
    name = (await port.findJob(job)).pipeline;
    return 0;
  });
  return name;
}

async function promoteRow(prefix: string, row: number, options: RetryRowOptions): Promise<number> {
  if (options.fixture !== undefined || options.previous !== undefined || options.once)
    throw invalid(
      'expected --promote without --fixture, --previous and --once',
      'These options are for a try. A run of the job uses stored outputs and retries.',
    );
  if (options.pipeline === undefined)
    return withPort(options, (port) => promoteOn(port, prefix, row, options));
  if (chooseTarget(options).kind === 'api')
    throw invalid(
      'expected --promote without --pipeline over a server',
      'The workers of the server run the row.',
    );
  const pipeline = await choosePipeline(options.pipeline);
  const [{ withRowmill }, { directPort }] = await Promise.all([
    import('../with-rowmill.ts'),
    import('../remote/direct-port.ts'),
  ]);
  return withRowmill(options, (rowmill, server) =>
    promoteOn(directPort(rowmill, server.description), prefix, row, options, {
      pipeline,
      run: async (jobId, signal) => {
        for (let leftMs: number | null = 0; leftMs !== null && !signal.aborted; ) {
          await waitMs(leftMs, signal);
          leftMs = (await rowmill.runSlice(jobId, SLICE_MS, { pipelines: [pipeline], signal })).moreReadyInMs;
        }
      },
    }),
  );
}

/** Runs the job in this process, until it is finished or waits for something else. */
interface Runner {
  pipeline: Pipeline;
  run(jobId: string, signal: AbortSignal): Promise<void>;
}

async function promoteOn(
  port: JobPort,
  prefix: string,
  row: number,
  options: RetryRowOptions,
  runner?: Runner,
): Promise<number> {
  const { jobId, itemCount, pipeline } = await port.findJob(prefix);
  const seq = row - 1;
  if (runner && runner.pipeline.name !== pipeline)
    throw new RowmillError(
      'JOB_CONFLICT',
      `job ${jobId} belongs to pipeline ${pipeline}, not ${runner.pipeline.name}`,
      {
        hint: 'Name the pipeline the job was started with.',
      },
    );
  if (row > itemCount) throw noSuchRow(jobId, row, itemCount);
  const stop = listenForStop(
    () => {},
    (line) => console.error(line),
  );
  try {
    const { generation } = await port.reprocess(jobId, {
      seqs: [[seq, seq + 1]],
      includePermanent: true,
      maxAttempts: ANY_ATTEMPTS,
      ...(options.phase !== undefined && { from: options.phase }),
    });
    if (!options.json) console.log(`Job ${jobId}, run ${generation}: row ${row} (seq ${seq}) runs again`);
    await runner?.run(jobId, stop.signal);
    const job = await whenOver(port, jobId, stop.signal);
    const how = howItIs(job);
    if (how !== 'over') {
      const why =
        how === 'waits' ? 'The job is paused: the row runs after you resume it.' : 'Stopped waiting.';
      const watch = printedCommand(['jobs', how === 'waits' ? 'resume' : 'watch', jobId], options);
      console.error(`${why} Continue with: ${watch}`);
      return how === 'waits' ? EXIT.unfinished : EXIT.stopped;
    }
    const { outcome } = await port.storedRow(jobId, seq);
    if (options.json) console.log(JSON.stringify({ jobId, row, seq, generation, ...outcome }));
    else for (const line of outcomeLines(row, outcome)) console.log(line);
    return outcome?.status === 'ERROR' ? EXIT.rowsFailed : EXIT.ok;
  } finally {
    stop.dispose();
  }
}

/** The job once it is finished, waits for a resume, or the command was stopped. */
async function whenOver(port: JobPort, jobId: string, signal: AbortSignal): Promise<ShownJob> {
  let said = '';
  for await (const { job } of port.watch(jobId, signal)) {
    if (howItIs(job) !== 'stopped' || signal.aborted) return job;
    const because = job.blockedBecause ?? '';
    if (because !== said && because !== '') console.error(`Waiting: ${printable(because)}`);
    said = because;
  }
  return port.job(jobId);
}

function* outcomeLines(row: number, outcome: StoredRow['outcome']): Generator<string> {
  if (outcome === null) return;
  const { status, errorClass, error, result } = outcome;
  yield `Row ${row}: ${status}${error === null ? '' : ` (${errorClass}: ${printable(error)})`}`;
  yield* valueLines(result, '  ');
}

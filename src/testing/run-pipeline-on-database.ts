// runPipeline on a real PostgreSQL with a real worker in this process: real time, real leases, no faults. For the one
// test of a pipeline that should run as in production.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import { ERROR_CLASSES, type ErrorClass, type Failure, type ItemStatus } from '../core/items/outcome.ts';
import { readRows } from '../export/read-rows.ts';
import { contextOf, openRowmill, type Rowmill } from '../open-rowmill.ts';

import { startEmbeddedPostgres } from '../platform/embedded-postgres/start-embedded-postgres.ts';
import { Events } from '../platform/events.ts';
import type { Settings } from '../platform/settings.ts';
import { readCountersOfJob } from '../store/views/counters/read-counters-of-job.ts';
import { listAttemptErrors } from '../store/views/items/list-attempt-errors.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { capturedLog, type LogEntry } from './captured-log.ts';
import { sortEntries } from './counted-entries.ts';
import type { PipelineRun } from './pipeline-run.ts';
import { RunRecorder } from './run-recorder.ts';

export interface RunOnDatabaseOptions<Params = unknown> {
  /** The job stays in this database. Default: a temporary embedded PostgreSQL; DATABASE_URL is never used. */
  databaseUrl?: string;
  settings?: Partial<Settings>;
  /** Parameters of the job. */
  params?: Params;
  /** Time after which an unfinished job is an error. Default 60,000. */
  deadlineMs?: number;
}

export async function runPipelineOnDatabase<Row, Params, Result>(
  pipeline: Pipeline<Row, Params, Result>,
  rows: readonly NoInfer<Row>[] | Iterable<NoInfer<Row>>,
  options: RunOnDatabaseOptions<NoInfer<Params>> = {},
): Promise<PipelineRun<Result>> {
  const folder = await mkdtemp(join(tmpdir(), 'rowmill-testing-'));
  try {
    const server =
      options.databaseUrl === undefined
        ? await startEmbeddedPostgres({ dataDir: join(folder, 'data') })
        : { url: options.databaseUrl, stop: async () => {} };
    try {
      const settings = { blobStore: join(folder, 'blobs'), ...options.settings };
      const rowmill = await openRowmill({ databaseUrl: server.url, settings, events: new Events() });
      try {
        const run = await runJob(rowmill, pipeline, [...rows] as Record<string, unknown>[], options);
        return run as PipelineRun<Result>;
      } finally {
        await rowmill.close();
      }
    } finally {
      await server.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runJob(
  rowmill: Rowmill,
  pipeline: Pipeline,
  rows: Record<string, unknown>[],
  { deadlineMs = 60_000, params = {} }: RunOnDatabaseOptions,
): Promise<PipelineRun> {
  const logs: Omit<LogEntry, 'atMs'>[] = [];
  const worker = await rowmill.startWorker([pipeline], {
    // Keeps log lines of handlers, which have a seq. The worker itself logs without one.
    log: capturedLog((entry) => 'seq' in entry.fields && logs.push(entry), null),
  });
  try {
    const jobId = await rowmill.submit(pipeline, rows, { params });
    await rowmill.whenFinished(jobId, AbortSignal.timeout(deadlineMs)).catch(async (error: unknown) => {
      if (!(error instanceof DOMException)) throw error;
      const { counts } = await rowmill.progress(jobId);
      const left = counts.PENDING + counts.PROCESSING;
      throw new RowmillError(
        'JOB_UNFINISHED',
        `pipeline ${pipeline.name} was not finished after ${deadlineMs} ms; ${left} of ${rows.length} rows are open`,
        { hint: 'Shorten the retry waits for the test, raise deadlineMs, or use runPipeline.' },
      );
    });
    return await readRun(rowmill, jobId, pipeline, rows, logs);
  } finally {
    await worker.stop();
  }
}

async function readRun(
  rowmill: Rowmill,
  jobId: string,
  pipeline: Pipeline,
  rows: Record<string, unknown>[],
  logs: Omit<LogEntry, 'atMs'>[],
): Promise<PipelineRun> {
  const { db, settings } = contextOf(rowmill);
  const { generation, createdAt, finishedAt, itemCount } = await rowmill.job(jobId);
  const startedMs = createdAt.getTime();
  const nameOf = (phase: number | null) => pipeline.phases[phase ?? 0]!.name;
  const since = (ms: number) => Math.max(0, Math.round(ms - startedMs));
  const pageRows = settings.exportPageRows;
  const pages = readRows(db, { jobId, generation, filter: {}, pageRows, afterSeq: -1, itemCount });
  const ended: ExportRow[] = [];
  for await (const page of pages) ended.push(...page);
  // Emitted rows come after the given ones.
  const emitted = ended.slice(rows.length).map(({ inputJson }) => JSON.parse(inputJson) as (typeof rows)[0]);
  const recorder = new RunRecorder([...rows, ...emitted]);
  for (const entry of logs) recorder.log({ atMs: null, ...entry });
  for (const each of await listAttemptErrors(db, jobId, generation)) {
    const { seq, attempt, failedAtMs } = each;
    const failure = failureOf(each.errorClass, each.error);
    const call = { seq, attempt, failure, phase: nameOf(each.phase), atMs: since(failedAtMs) };
    recorder.addCall({ ...call, outcome: 'retry', retryAfterMs: null });
  }
  for (const { seq, phase, attempts, errorClass, error, finishedAtMs, resultJson, ...row } of ended) {
    const status = row.status as ItemStatus;
    const failure = errorClass === null ? null : failureOf(errorClass, error ?? '');
    const atMs = since(finishedAtMs ?? startedMs);
    const call = { seq, failure, phase: nameOf(phase), attempt: attempts ?? 0, atMs, retryAfterMs: null };
    const outcome = status.toLowerCase() as Lowercase<ItemStatus>;
    recorder.addResult({ ...call, outcome }, status, resultJson);
  }
  const counted = sortEntries(await readCountersOfJob(db, jobId));
  return recorder.finish(since(finishedAt?.getTime() ?? startedMs), counted);
}

function failureOf(errorClass: string, message: string): Failure {
  const known = ERROR_CLASSES.find((each): each is ErrorClass => each === errorClass);
  return { class: known ?? 'permanent', message, retryAfterMs: null };
}

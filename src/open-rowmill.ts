// The door for programs: create jobs, add items, seal, watch, and run workers against one database. Readers of files and
// workers are loaded by the methods that use them: a command that looks at a job starts without them.
import type { Readable } from 'node:stream';
import { blockedBecause } from './core/claims/ability.ts';
import { checkPays, type JobBudget } from './core/limits/budget.ts';
import { checkParams } from './pipeline/check-params.ts';
import { type ResultRow, toResultRow } from './core/files/export-row.ts';
import { CLAIMABLE_STATES, isFinished } from './core/jobs/job-state.ts';
import type { ResourceOverride } from './core/limits/resource-limits.ts';
import { type ResourceStatus, resourceStatus } from './core/limits/resource-status.ts';
import { RowmillError } from './core/errors/rowmill-error.ts';
import { slowBecause } from './core/jobs/slow-because.ts';
import type { Summary } from './core/jobs/summary.ts';
import { type AddItemsOptions, addItems } from './engine/items/add-items.ts';
import { cancelJob } from './engine/jobs/cancel-job.ts';
import { type CreateJobRequest, createJob } from './engine/jobs/create-job.ts';
import type { EngineContext } from './engine/engine-context.ts';
import { overrideResource } from './engine/limits/override-resource.ts';
import { pauseJob } from './engine/jobs/pause-job.ts';
import { type ReprocessRequest, reprocessJob } from './engine/reprocess/reprocess-job.ts';
import { type ResumeReport, resumeJob } from './engine/jobs/resume-job.ts';
import { sealJob } from './engine/jobs/seal-job.ts';
import { type OwnerBudget, setBudget, setBudgetOfOwner } from './engine/limits/set-budget.ts';
import { setOwner } from './engine/limits/set-owner.ts';
import { controlOptions } from './engine/limits/sync-resources.ts';
import { type ExportRequest, type ExportStream, exportJob } from './export/export-job.ts';
import { readRows } from './export/read-rows.ts';
import type { SubmitFileOptions, SubmittedFile } from './ingest/submit-file.ts';
import { openStored } from './platform/blob-store/image-copies.ts';
import { openBlobStore } from './platform/blob-store/open-blob-store.ts';
import { waitMs } from './platform/clock.ts';
import { Database } from './platform/database.ts';
import { Events } from './platform/events.ts';
import { createLogger } from './platform/logger.ts';
import { WorkNotifier } from './platform/notifier.ts';
import { loadSettings, type Settings } from './platform/settings.ts';
import { type DatabaseWait, logDatabaseWait, whenDatabaseAnswers } from './platform/when-database-answers.ts';
import type { OpenedGeneration } from './store/commands/jobs/open-generation.ts';
import type { OverrideChange } from './store/commands/limits/override-resource.ts';
import type { OwnerChange, OwnerLimits } from './store/commands/limits/set-owner.ts';
import { migrate } from './store/migrate.ts';
import { countSuspects } from './store/views/spans/count-suspects.ts';
import { listAbilities } from './store/views/jobs/list-abilities.ts';
import { type ListedOwner, listOwners } from './store/views/limits/list-owners.ts';
import { listPressures } from './store/views/jobs/list-pressures.ts';
import { listResources } from './store/views/limits/list-resources.ts';
import { type BudgetStatus, readBudgets } from './store/views/limits/read-budgets.ts';
import { type ErrorGroup, readErrorGroups } from './store/views/results/read-error-groups.ts';
import { type Job, readJob } from './store/views/jobs/read-job.ts';
import { type Progress, readProgress, readSummary } from './store/views/jobs/read-progress.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import type { SliceOptions, SliceReport } from './worker/process/run-slice.ts';
import type { RowmillWorker, WorkerOptions } from './worker/worker.ts';
import { openConnections, type WorkerConnections } from './worker/process/worker-connections.ts';

export interface RowmillOptions {
  databaseUrl: string;
  settings?: Partial<Settings>;
  events?: Events;
  /** Called when PostgreSQL is not ready and waited for (databaseStartWaitMs), and when it is. Default: a log line. */
  onDatabaseWait?: (wait: DatabaseWait) => void;
}

export interface FileBytes {
  name: string;
  bytes: AsyncIterable<Uint8Array>;
  /** A stream of another length did not arrive whole. */
  expectedBytes?: number;
}

export interface NewJobOptions<Params = unknown>
  extends Pick<
    CreateJobRequest,
    'ownerId' | 'name' | 'priority' | 'idempotencyKey' | 'outputs' | 'hold' | 'trial' | 'budget'
  > {
  params?: Params;
}

/** Lists are named beside other iterables: then an error of the compiler is at the row that is wrong. */
type Rows<Row> = readonly Row[] | Iterable<Row> | AsyncIterable<Row>;

/** Who waits for a summary looks this often before it asks whether there will be one. */
const LOOKS_PER_STATE = 20;

let readContext: (rowmill: Rowmill) => EngineContext;

export class Rowmill {
  readonly #context: EngineContext;
  readonly #notifier: WorkNotifier;
  /** Kept from one slice to the next. */
  readonly #sliceConnections: WorkerConnections;

  static {
    readContext = (rowmill) => rowmill.#context;
  }

  constructor(context: EngineContext) {
    this.#context = context;
    this.#sliceConnections = openConnections(context.db.url, context, createLogger(), context);
    this.#notifier = new WorkNotifier(context.db);
  }

  async createJob<Params>(
    pipeline: Pipeline<unknown, Params>,
    options: NewJobOptions<NoInfer<Params>> = {},
  ): Promise<{ jobId: string; created: boolean }> {
    const unpaid = checkPays(pipeline, options.budget);
    if (unpaid !== null) throw new RowmillError('BUDGET_INVALID', unpaid);
    return createJob(this.#context, {
      ...options,
      params: await checkParams(pipeline, options.params),
      pipeline: pipeline.name,
      pipelineVersion: pipeline.version,
      phases: pipeline.phases.map((phase) => phase.name),
      ...((options.outputs ?? pipeline.outputs) ? { outputs: options.outputs ?? pipeline.outputs! } : {}),
    });
  }

  async addItems(
    jobId: string,
    items: AsyncIterable<unknown> | Iterable<unknown>,
    options: AddItemsOptions = {},
  ): Promise<number> {
    const off = this.#context.events.on('items.added', () => void this.#notifier.hint());
    try {
      return await addItems(this.#context, jobId, items, options);
    } finally {
      off();
    }
  }

  async sealJob(jobId: string): Promise<number> {
    const total = await sealJob(this.#context, jobId);
    await this.#notifier.hint();
    return total;
  }

  /**
   * Stores a file (path, or name and bytes) and opens a job for its rows; several paths are a set of images. Nothing is
   * read into the job yet: that is `ingest`. The same file again is the same job.
   */
  async createFileJob<Params>(
    pipeline: Pipeline<unknown, Params>,
    file: string | string[] | FileBytes,
    options: SubmitFileOptions<NoInfer<Params>> = {},
  ): Promise<SubmittedFile> {
    const context = this.#context;
    if (typeof file !== 'string' && !Array.isArray(file)) {
      const { submitFile } = await import('./ingest/submit-file.ts');
      return submitFile(context, pipeline, { kind: 'upload', ...file }, options);
    }
    const paths = typeof file === 'string' ? [file] : file;
    const { submitPaths } = await import('./ingest/submit-paths.ts');
    return submitPaths(context, pipeline, paths, options);
  }

  /** Reads the file of a job into items, from where it was left, and seals it. False when the signal or a cancellation stopped it. */
  async ingest(
    jobId: string,
    pipeline: Pipeline,
    options: { signal?: AbortSignal | undefined; onWait?: (message: string) => void } = {},
  ): Promise<boolean> {
    const off = this.#context.events.on('items.added', () => void this.#notifier.hint());
    try {
      const { ingestWhenFree } = await import('./ingest/ingest-when-free.ts');
      return await ingestWhenFree(this.#context, jobId, pipeline, options);
    } finally {
      off();
      await this.#notifier.hint();
    }
  }

  /** `createFileJob` and `ingest`: a job with the rows of a file, as `submit` for rows. Resolves when all of them are stored. */
  async submitFile<Params>(
    pipeline: Pipeline<unknown, Params>,
    file: string | string[] | FileBytes,
    options: SubmitFileOptions<NoInfer<Params>> = {},
  ): Promise<SubmittedFile> {
    const submitted = await this.createFileJob(pipeline, file, options);
    await this.ingest(submitted.jobId, pipeline, { signal: options.signal });
    return submitted;
  }

  /**
   * Creates a job, stores its items and seals it. With an idempotency key the same call again is the same job, and goes
   * on with one whose items were not all stored.
   */
  async submit<Row, Params>(
    pipeline: Pipeline<Row, Params>,
    rows: Rows<NoInfer<Row>>,
    options: NewJobOptions<NoInfer<Params>> = {},
  ): Promise<string> {
    const { jobId } = await this.createJob(pipeline, options);
    const { sealedAt, itemCount, ingestReport, state } = await this.job(jobId);
    if (sealedAt !== null || isFinished(state)) return jobId;
    await this.addItems(jobId, rows, { resumeAfter: itemCount - (ingestReport.emitted ?? 0) });
    await this.sealJob(jobId);
    return jobId;
  }

  /** Nothing new of the job starts; what runs ends and is written. False when it was paused already. */
  pause(jobId: string): Promise<boolean> {
    return pauseJob(this.#context, jobId);
  }

  /** Goes on with a paused job; when it is not paused, releases what a trial holds. */
  async resume(jobId: string): Promise<ResumeReport> {
    const report = await resumeJob(this.#context, jobId);
    await this.#notifier.hint();
    return report;
  }

  /**
   * Changes what a job may cost, or each of its items; null takes a budget away. A job that paused at its budget goes on
   * with `resume`.
   */
  setBudget(
    jobId: string,
    change: JobBudget,
    options: { actor?: string } = {},
  ): Promise<{ max: number | null; perItem: number | null }> {
    return setBudget(this.#context, jobId, change, options.actor ?? 'library');
  }

  /** Changes what all jobs of an owner together may cost, per day (UTC) and in all; null takes a budget away. */
  setOwnerBudget(
    ownerId: string,
    change: OwnerBudget,
    options: { actor?: string } = {},
  ): Promise<{ perDay: number | null; total: number | null }> {
    return setBudgetOfOwner(this.#context, ownerId, change, options.actor ?? 'library');
  }

  /** The budgets that the job is bound by, and how much of them is spent or reserved. */
  budgets(jobId: string): Promise<BudgetStatus[]> {
    return readBudgets(this.#context.db, jobId);
  }

  /** Ends the job: what has no result is CANCELLED, running handlers are aborted. Resolves when all items have ended. */
  cancel(jobId: string): Promise<boolean> {
    return cancelJob(this.#context, jobId);
  }

  /** Opens the next generation of a finished job with chosen items waiting again; default: those that failed. */
  async reprocess(jobId: string, request: ReprocessRequest = {}): Promise<OpenedGeneration> {
    const opened = await reprocessJob(this.#context, jobId, request);
    await this.#notifier.hint();
    return opened;
  }

  /** What is declared, set and used of services outside; those used last come first. */
  async resources(options: { name?: string; limit?: number } = {}): Promise<ResourceStatus[]> {
    const { db, settings } = this.#context;
    const listed = await listResources(db, options.name ?? null, options.limit ?? 100);
    return listed.map((each) => resourceStatus(each, controlOptions(settings)));
  }

  /** Changes what a resource, or one key of it, may do while things run; null takes an override away. */
  setResource(
    name: string,
    change: OverrideChange,
    options: { key?: string; actor?: string } = {},
  ): Promise<ResourceOverride> {
    return overrideResource(this.#context, { actor: 'library', ...options, name, change });
  }

  /** Those with open jobs, and those of whom something is set. */
  owners(limit = 1000): Promise<ListedOwner[]> {
    return listOwners(this.#context.db, limit);
  }

  /** What an owner may have of the workers; null takes a limit away, what is left out stays. */
  async setOwner(
    ownerId: string,
    change: OwnerChange,
    options: { actor?: string } = {},
  ): Promise<OwnerLimits> {
    const limits = await setOwner(this.#context, ownerId, change, options.actor ?? 'library');
    await this.#notifier.hint();
    return limits;
  }

  async job(jobId: string): Promise<Job> {
    const job = await readJob(this.#context.db, jobId);
    if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
    return job;
  }

  async progress(jobId: string): Promise<Progress> {
    const progress = await readProgress(this.#context.db, jobId);
    if (!progress) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
    return progress;
  }

  /** Why no running worker can go on with this job, or null: it can, or there is nothing to do. */
  async blockedBecause(job: Job): Promise<string | null> {
    if (!CLAIMABLE_STATES.includes(job.state)) return null;
    const { counts } = await this.progress(job.jobId);
    if (counts.PENDING === 0) return null;
    const { db, settings } = this.#context;
    return blockedBecause(await listAbilities(db, settings.heartbeatMs * 3), job);
  }

  /** Why rows of this job wait although there are slots for them, or null; services of other pipelines may be among it. */
  async slowBecause(job: Job): Promise<string | null> {
    if (!CLAIMABLE_STATES.includes(job.state)) return null;
    const { db, settings } = this.#context;
    const [resources, pressures, suspects] = await Promise.all([
      this.resources(),
      listPressures(db, settings.heartbeatMs * 3, job.pipeline),
      countSuspects(db, job.jobId),
    ]);
    return slowBecause(resources, pressures, suspects);
  }

  async errorGroups(jobId: string, limit = 20): Promise<ErrorGroup[]> {
    return (await readErrorGroups(this.#context.db, jobId, { limit })).groups;
  }

  /** Of the current generation, or a given one; null until it is finished. */
  summary(jobId: string, generation?: number): Promise<Summary | null> {
    return readSummary(this.#context.db, jobId, generation);
  }

  /**
   * Items in seq order, each with the newest result there is in this generation. With the pipeline of the job, results have
   * the type that its last phase returns.
   */
  async *results<Result = unknown>(
    jobId: string,
    pipeline?: Pipeline<unknown, unknown, Result>,
  ): AsyncGenerator<ResultRow<Result>> {
    const { generation, itemCount, pipeline: ownPipeline } = await this.job(jobId);
    if (pipeline !== undefined && pipeline.name !== ownPipeline)
      throw new RowmillError(
        'JOB_CONFLICT',
        `job ${jobId} belongs to pipeline ${ownPipeline}, not ${pipeline.name}`,
        { hint: 'Give results the pipeline that the job was created with, or none.' },
      );
    const { db, settings } = this.#context;
    const pageRows = settings.exportPageRows;
    const pages = readRows(db, { jobId, generation, filter: {}, pageRows, afterSeq: -1, itemCount });
    for await (const page of pages) for (const row of page) yield toResultRow<Result>(row);
  }

  /** Results as CSV, XLSX or JSON lines: bytes, read page by page as they are asked for. */
  export(jobId: string, request: Omit<ExportRequest, 'jobId' | 'pageRows'>): ExportStream {
    const { db, settings } = this.#context;
    return exportJob(db, { ...request, jobId, pageRows: settings.exportPageRows });
  }

  /** Bytes from the blob store: an output file of a summary, by its `key`. */
  openFile(key: string): Promise<Readable> {
    return openStored(this.#context.blobs, key);
  }

  /** Waits until the job is finished. A job whose file could not be read, or that is gone, is an error. */
  async whenFinished(jobId: string, signal?: AbortSignal): Promise<Summary> {
    for (let look = 0; ; look += 1) {
      const summary = await this.summary(jobId);
      if (summary) return summary;
      if (look % LOOKS_PER_STATE === 0) {
        const { state, lastError } = await this.job(jobId);
        if (state === 'FAILED') throw new RowmillError('JOB_FAILED', `job ${jobId} failed: ${lastError}`);
      }
      await waitMs(50, signal);
      signal?.throwIfAborted();
    }
  }

  /** A worker in this process. Started, and yours to stop. */
  async startWorker(
    pipelines: Pipeline[],
    options: Omit<WorkerOptions, 'databaseUrl' | 'pipelines'> = {},
  ): Promise<RowmillWorker> {
    const { RowmillWorker } = await import('./worker/worker.ts');
    const worker = new RowmillWorker({
      databaseUrl: this.#context.db.url,
      pipelines,
      events: this.#context.events,
      settings: this.#context.settings,
      ...options,
    });
    await worker.start();
    return worker;
  }

  /**
   * Works on one job in this process for at most that long, whether or not workers run, and gives back what is
   * unfinished. Called again and again it brings the job to its end; the report says when the next call is of use.
   */
  async runSlice(jobId: string, durationMs: number, options: SliceOptions): Promise<SliceReport> {
    const { runSlice } = await import('./worker/process/run-slice.ts');
    return runSlice(this.#sliceConnections, jobId, durationMs, options);
  }

  async close(): Promise<void> {
    const { claims, flushes } = this.#sliceConnections;
    await Promise.all([claims, flushes, this.#context].map(({ db }) => db.close()));
    await this.#context.blobs.close();
  }
}

/** For the command line, the testing kit and tests: the database, settings and events of a Rowmill. Not public. */
export function contextOf(rowmill: Rowmill): EngineContext {
  return readContext(rowmill);
}

/** Connects, and brings the database to the schema of this version. */
export async function openRowmill(options: RowmillOptions): Promise<Rowmill> {
  const settings = loadSettings({ flags: options.settings ?? {} });
  await whenDatabaseAnswers(() => migrate(options.databaseUrl), {
    waitMs: settings.databaseStartWaitMs,
    onWait: options.onDatabaseWait ?? logDatabaseWait(createLogger()),
  });
  const db = new Database({
    url: options.databaseUrl,
    maxConnections: 4,
    applicationName: 'rowmill client',
    deadlineMs: settings.databaseDeadlineMs,
  });
  const blobs = openBlobStore(settings.blobStore);
  return new Rowmill({ db, blobs, events: options.events ?? new Events(), settings });
}

// The library: creates jobs, adds items, seals and watches jobs, and runs workers on one database. File readers and
// workers are imported by the methods that use them, so that commands that only read start faster.
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

/** Options of `openRowmill`. */
export interface RowmillOptions {
  /** Connection string of the PostgreSQL database. */
  databaseUrl: string;
  /** Settings that override the environment and the defaults. */
  settings?: Partial<Settings>;
  /** Receives the events of this instance and its workers. Default: a new `Events`. */
  events?: Events;
  /**
   * Called when PostgreSQL is not ready and Rowmill waits for it (databaseStartWaitMs), and again when it is ready.
   * Default: a log line.
   */
  onDatabaseWait?: (wait: DatabaseWait) => void;
}

/** A file given as a stream of bytes. */
export interface FileBytes {
  /** File name shown with the job. It does not affect how the file is read. */
  name: string;
  bytes: AsyncIterable<Uint8Array>;
  /** Expected length in bytes. A stream of a different length is refused as incomplete. */
  expectedBytes?: number;
}

/** Options of a new job. */
export interface NewJobOptions<Params = unknown>
  extends Pick<
    CreateJobRequest,
    'ownerId' | 'name' | 'priority' | 'idempotencyKey' | 'outputs' | 'hold' | 'trial' | 'budget'
  > {
  /** Parameters for all rows of the job, checked by the `params` schema of the pipeline. */
  params?: Params;
}

/** Arrays are listed separately so that the compiler reports a wrong row at that row. */
type Rows<Row> = readonly Row[] | Iterable<Row> | AsyncIterable<Row>;

/** Polls for a summary between two checks whether the job has failed. */
const LOOKS_PER_STATE = 20;

let readContext: (rowmill: Rowmill) => EngineContext;

/** A connection to one Rowmill database. Open it with `openRowmill`. */
export class Rowmill {
  readonly #context: EngineContext;
  readonly #notifier: WorkNotifier;
  /** Kept between slices. */
  readonly #sliceConnections: WorkerConnections;

  static {
    readContext = (rowmill) => rowmill.#context;
  }

  constructor(context: EngineContext) {
    this.#context = context;
    this.#sliceConnections = openConnections(context.db.url, context, createLogger(), context);
    this.#notifier = new WorkNotifier(context.db);
  }

  /**
   * Creates an empty job. Add items with `addItems`, then call `sealJob`. `created` is false if a job with the same
   * idempotency key exists.
   */
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
      pipelineKeepDays: pipeline.keepDays,
      phases: pipeline.phases.map((phase) => phase.name),
      costUnit: pipeline.costUnit,
      ...((options.outputs ?? pipeline.outputs) ? { outputs: options.outputs ?? pipeline.outputs! } : {}),
    });
  }

  /** Stores items in an unsealed job, in batches. Resolves with the number of items stored, all of them durable. */
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

  /** Declares that no more items follow, so that the job can finish. Resolves with the total number of items. */
  async sealJob(jobId: string): Promise<number> {
    const total = await sealJob(this.#context, jobId);
    await this.#notifier.hint();
    return total;
  }

  /**
   * Stores a file (a path, or a name and bytes) and creates a job for its rows; several paths are a set of images. The
   * rows are read by `ingest`. The same file again yields the same job.
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

  /**
   * Reads the file of a job into items, resuming where an earlier call stopped, and seals the job. Resolves with false
   * if the signal or a cancellation stopped it.
   */
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

  /**
   * Creates a job from a file and reads its rows: `createFileJob` followed by `ingest`. Resolves when all rows are
   * stored.
   */
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
   * Creates a job, stores its items and seals it. With an idempotency key, a repeated call yields the same job and
   * stores the items that are missing.
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

  /**
   * Pauses a job: no new calls start, and running calls finish and are stored. Resolves with false if it was already
   * paused.
   */
  pause(jobId: string): Promise<boolean> {
    return pauseJob(this.#context, jobId);
  }

  /** Resumes a paused job. If the job is not paused, releases the rows that a test run holds back. */
  async resume(jobId: string): Promise<ResumeReport> {
    const report = await resumeJob(this.#context, jobId);
    await this.#notifier.hint();
    return report;
  }

  /**
   * Changes the budget of a job, or of each of its items; null removes a budget. A job that paused at its budget
   * continues after `resume`.
   */
  setBudget(
    jobId: string,
    change: JobBudget,
    options: { actor?: string } = {},
  ): Promise<{ max: number | null; perItem: number | null }> {
    return setBudget(this.#context, jobId, change, options.actor ?? 'library');
  }

  /** Changes the budget shared by all jobs of an owner, per day (UTC) and in total; null removes a budget. */
  setOwnerBudget(
    ownerId: string,
    change: OwnerBudget,
    options: { actor?: string } = {},
  ): Promise<{ perDay: number | null; total: number | null }> {
    return setBudgetOfOwner(this.#context, ownerId, change, options.actor ?? 'library');
  }

  /** Lists the budgets that apply to the job, with the amounts spent and reserved. */
  budgets(jobId: string): Promise<BudgetStatus[]> {
    return readBudgets(this.#context.db, jobId);
  }

  /**
   * Cancels a job: items without a result become CANCELLED, and running handlers are aborted. Resolves when all items
   * are finished.
   */
  cancel(jobId: string): Promise<boolean> {
    return cancelJob(this.#context, jobId);
  }

  /** Reruns items of a finished job in a new generation. Default: those that ended as ERROR or NOT_FOUND. */
  async reprocess(jobId: string, request: ReprocessRequest = {}): Promise<OpenedGeneration> {
    const opened = await reprocessJob(this.#context, jobId, request);
    await this.#notifier.hint();
    return opened;
  }

  /** Lists resources with their declared limits, overrides and use, the most recently used first. */
  async resources(options: { name?: string; limit?: number } = {}): Promise<ResourceStatus[]> {
    const { db, settings } = this.#context;
    const listed = await listResources(db, options.name ?? null, options.limit ?? 100);
    return listed.map((each) => resourceStatus(each, controlOptions(settings)));
  }

  /** Overrides the limits of a resource, or of one of its keys, while jobs run; null removes an override. */
  setResource(
    name: string,
    change: OverrideChange,
    options: { key?: string; actor?: string } = {},
  ): Promise<ResourceOverride> {
    return overrideResource(this.#context, { actor: 'library', ...options, name, change });
  }

  /** Lists owners that have open jobs or configured limits. */
  owners(limit = 1000): Promise<ListedOwner[]> {
    return listOwners(this.#context.db, limit);
  }

  /** Changes the weight and limits of an owner. Null removes a limit; omitted fields stay as they are. */
  async setOwner(
    ownerId: string,
    change: OwnerChange,
    options: { actor?: string } = {},
  ): Promise<OwnerLimits> {
    const limits = await setOwner(this.#context, ownerId, change, options.actor ?? 'library');
    await this.#notifier.hint();
    return limits;
  }

  /** Reads a job. Throws JOB_NOT_FOUND if it does not exist. */
  async job(jobId: string): Promise<Job> {
    const job = await readJob(this.#context.db, jobId);
    if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
    return job;
  }

  /** Reads the progress of a job: item counts by status, retries, workers and cost. */
  async progress(jobId: string): Promise<Progress> {
    const progress = await readProgress(this.#context.db, jobId);
    if (!progress) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
    return progress;
  }

  /** The reason why no running worker can continue this job; null if one can, or if there is nothing to do. */
  async blockedBecause(job: Job): Promise<string | null> {
    if (!CLAIMABLE_STATES.includes(job.state)) return null;
    const { counts } = await this.progress(job.jobId);
    if (counts.PENDING === 0) return null;
    const { db, settings } = this.#context;
    return blockedBecause(await listAbilities(db, settings.heartbeatMs * 3), job);
  }

  /**
   * The reason why rows of this job wait although slots are free, or null. It may name a resource of another pipeline.
   */
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

  /** Lists groups of similar errors of a job, the largest first. */
  async errorGroups(jobId: string, limit = 20): Promise<ErrorGroup[]> {
    return (await readErrorGroups(this.#context.db, jobId, { limit })).groups;
  }

  /** Reads the summary of the current generation, or of the given one; null until it is finished. */
  summary(jobId: string, generation?: number): Promise<Summary | null> {
    return readSummary(this.#context.db, jobId, generation);
  }

  /**
   * Iterates over the items in seq order, each with its newest result. If the pipeline of the job is given, results
   * have the type that its last phase returns.
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
        { hint: 'Pass the pipeline that the job was created with, or omit it.' },
      );
    const { db, settings } = this.#context;
    const pageRows = settings.exportPageRows;
    const pages = readRows(db, { jobId, generation, filter: {}, pageRows, afterSeq: -1, itemCount });
    for await (const page of pages) for (const row of page) yield toResultRow<Result>(row);
  }

  /** Exports results as CSV, XLSX or JSON lines. The stream reads page by page as it is consumed. */
  export(jobId: string, request: Omit<ExportRequest, 'jobId' | 'pageRows'>): ExportStream {
    const { db, settings } = this.#context;
    return exportJob(db, { ...request, jobId, pageRows: settings.exportPageRows });
  }

  /** Opens a file in the blob store, such as an output file of a summary, by its `key`. */
  openFile(key: string): Promise<Readable> {
    return openStored(this.#context.blobs, key);
  }

  /**
   * Waits until the job is finished, and resolves with its summary. Throws if the file of the job could not be read,
   * or if the job does not exist.
   */
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

  /** Starts a worker in this process. Stop it with its `stop` method. */
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
   * Runs one job in this process for at most `durationMs`, whether or not workers run, and returns unfinished items to
   * the queue. Repeated calls finish the job; the report says when the next call is worthwhile.
   */
  async runSlice(jobId: string, durationMs: number, options: SliceOptions): Promise<SliceReport> {
    const { runSlice } = await import('./worker/process/run-slice.ts');
    return runSlice(this.#sliceConnections, jobId, durationMs, options);
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    const { claims, flushes } = this.#sliceConnections;
    await Promise.all([claims, flushes, this.#context].map(({ db }) => db.close()));
    await this.#context.blobs.close();
  }
}

/** The database, settings and events of a Rowmill, for the command line, the testing kit and tests. Not public. */
export function contextOf(rowmill: Rowmill): EngineContext {
  return readContext(rowmill);
}

/** Connects to the database and migrates it to the schema of this version. */
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

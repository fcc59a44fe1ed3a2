// Runs one time slice of one job inside the calling process: claims, runs and writes for at most the given time, gives
// back unfinished items, and reports when another slice is worthwhile. No worker is needed. Workers and other slices of
// the same job may run at the same time, because leases keep them apart.
import { blockedBecause, canRun, GIVEN_PIPELINES } from '../../core/claims/ability.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { mayHaveWork, nextSliceInMs } from '../../core/jobs/job-outlook.ts';
import { CLAIMABLE_STATES, isFinished, type JobState } from '../../core/jobs/job-state.ts';
import { sweepJob } from '../../engine/services/sweeper.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { rescueLeases } from '../../engine/flush/rescue-leases.ts';
import { type LearnedBefore, loadLearnedTimes, storeLearnedTimes } from '../../engine/jobs/learned-times.ts';
import { ingestJob } from '../../ingest/ingest-job.ts';
import { abilityOf } from '../../pipeline/define-pipeline.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { processName } from '../../platform/process-name.ts';
import { type Job, readJob } from '../../store/views/jobs/read-job.ts';
import { readJobOutlook } from '../../store/views/jobs/read-job-outlook.ts';
import { type Progress, readProgress } from '../../store/views/jobs/read-progress.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { RowmillWorker } from '../worker.ts';
import type { WorkerConnections } from './worker-connections.ts';

export interface SliceOptions {
  /** Must include the job's pipeline. */
  pipelines: Pipeline[];
  /** Ends the slice early, as if its time were over. */
  signal?: AbortSignal;
  log?: Logger;
}

export interface SliceReport {
  jobId: string;
  /** After the slice. */
  state: JobState;
  /** True if the job is finished, with its summary written. No further slice is needed. */
  finished: boolean;
  /** Outcomes written by this slice: results, advances to a next phase, and retries. */
  recorded: number;
  progress: Progress;
  elapsedMs: number;
  /**
   * Milliseconds until another slice is worthwhile. 0: now. Above 0: the next retry is ready then, or items held by
   * another process should be checked again. Null: the job is finished, or first needs a resume, a seal or more items.
   */
  moreReadyInMs: number | null;
}

export async function runSlice(
  connections: WorkerConnections,
  jobId: string,
  durationMs: number,
  options: SliceOptions,
): Promise<SliceReport> {
  const { control: context } = connections;
  const startedMs = monotonicMs();
  checkDuration(durationMs, context.settings.sliceMaxMs);
  const [job, learned] = await Promise.all([readJob(context.db, jobId), loadLearnedTimes(context, jobId)]);
  if (!job) throw notFound(jobId);
  let recorded = 0;
  if (CLAIMABLE_STATES.includes(job.state)) {
    const pipeline = choosePipeline(job, options.pipelines);
    const slice = new Slice(connections, job, pipeline, startedMs + durationMs, options);
    recorded = await slice.run(learned);
  }
  if (!isFinished(job.state) && job.state !== 'PAUSED') await sweepJob(context, jobId);
  const [outlook, progress] = await Promise.all([
    readJobOutlook(context.db, jobId),
    readProgress(context.db, jobId),
  ]);
  if (!outlook || !progress) throw notFound(jobId);
  return {
    jobId,
    state: outlook.state,
    finished: isFinished(outlook.state),
    recorded,
    progress,
    elapsedMs: Math.round(monotonicMs() - startedMs),
    moreReadyInMs: nextSliceInMs(outlook, context.settings.pollMaxMs),
  };
}

class Slice {
  readonly #connections: WorkerConnections;
  readonly #context: EngineContext;
  readonly #job: Job;
  readonly #pipeline: Pipeline;
  readonly #deadlineMs: number;
  readonly #options: SliceOptions;
  /** Aborts when the slice has nothing left to do. */
  readonly #end = new AbortController();
  /** Aborts at the first handler call, or when there is no item to call a handler for. */
  readonly #begun = new AbortController();
  #looking = false;

  constructor(
    connections: WorkerConnections,
    job: Job,
    pipeline: Pipeline,
    deadlineMs: number,
    options: SliceOptions,
  ) {
    this.#connections = connections;
    this.#context = connections.control;
    this.#job = job;
    this.#pipeline = pipeline;
    this.#deadlineMs = deadlineMs;
    this.#options = options;
  }

  /** Returns the number of outcomes written. */
  async run(learned: LearnedBefore): Promise<number> {
    const { db, settings, events } = this.#context;
    const { jobId } = this.#job;
    const { signal, log } = this.#options;
    const worker = new RowmillWorker({
      databaseUrl: db.url,
      pipelines: [this.#pipeline],
      name: `slice of ${processName()}`,
      settings,
      events,
      ...(log && { log }),
      only: {
        jobId,
        connections: this.#connections,
        learned: learned.times,
        leftMs: () => this.#leftMs(),
        onIdle: (readyInMs) => {
          this.#begun.abort();
          void this.#endIfDone(readyInMs);
        },
        onCall: () => this.#begun.abort(),
        onEnded: () => this.#end.abort(),
      },
    });
    const rescuer = new PeriodicService({
      name: 'slice rescuer',
      intervalMs: settings.sweepMs,
      events,
      work: async () => {
        if ((await rescueLeases(this.#context, { expiredOfJobId: jobId })).leases > 0) worker.hint();
      },
    });
    const onAbort = (): void => this.#end.abort();
    const offAdded = events.on('items.added', (added) => added.jobId === jobId && worker.hint());
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    const background: Promise<unknown>[] = [];
    try {
      await worker.start();
      background.push(rescuer.runOnce(), this.#readFile());
      rescuer.start();
      await waitMs(this.#leftMs(), this.#end.signal);
      // A short slice on a slow machine would end before its first claim returns, every time. Wait for the first call.
      if (!this.#end.signal.aborted)
        await waitMs(settings.sliceGraceMs, AbortSignal.any([this.#begun.signal, this.#end.signal]));
    } finally {
      this.#end.abort();
      signal?.removeEventListener('abort', onAbort);
      offAdded();
      await Promise.all([worker.stop({ drainMs: settings.sliceGraceMs }), rescuer.stop(), ...background]);
    }
    if (worker.recordedCount > 0)
      await storeLearnedTimes(this.#context, jobId, learned, worker.learnedTimes());
    return worker.recordedCount;
  }

  #leftMs(): number {
    return Math.max(0, this.#deadlineMs - monotonicMs());
  }

  /** Ends an idle slice, unless work may become ready before its time is over. */
  async #endIfDone(readyInMs: number | null): Promise<void> {
    if (this.#looking || (readyInMs !== null && readyInMs < this.#leftMs())) return;
    this.#looking = true;
    try {
      const outlook = await readJobOutlook(this.#context.db, this.#job.jobId);
      if (!outlook || !mayHaveWork(outlook, this.#leftMs())) this.#end.abort();
    } catch (error) {
      this.#context.events.emit('service.failed', { service: 'slice', error });
    } finally {
      this.#looking = false;
    }
  }

  /** Continues reading the job's file, unless another process is reading it. */
  async #readFile(): Promise<void> {
    const { jobId, sealedAt, source } = this.#job;
    if (sealedAt !== null || source === null) return;
    try {
      await ingestJob(this.#context, jobId, this.#pipeline, this.#end.signal);
    } catch (error) {
      // Another process reads the file, or the file is invalid, which the job records.
      if (!(error instanceof RowmillError))
        this.#context.events.emit('service.failed', { service: 'slice', error });
    }
  }
}

function choosePipeline(job: Job, pipelines: Pipeline[]): Pipeline {
  const fitting = pipelines.find((pipeline) => canRun(abilityOf(pipeline), job));
  if (fitting) return fitting;
  const reason = blockedBecause(pipelines.map(abilityOf), job, GIVEN_PIPELINES)!;
  throw new RowmillError('PIPELINE_NOT_FOUND', `cannot run job ${job.jobId} here: ${reason}`, {
    hint: 'Pass the pipeline that the job was created with, in the same version and with the same phases.',
  });
}

function checkDuration(durationMs: number, maxMs: number): void {
  if (Number.isInteger(durationMs) && durationMs >= 1 && durationMs <= maxMs) return;
  throw new RowmillError(
    'SLICE_INVALID',
    `expected the duration of a slice to be a whole number of milliseconds from 1 to ${maxMs}, got ${String(durationMs)}`,
  );
}

function notFound(jobId: string): RowmillError {
  return new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
}

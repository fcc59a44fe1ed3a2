// One time slice of one job inside the calling process: claims, runs and writes for at most the given time, gives back
// what is unfinished, and says when another slice could do something. No worker has to run; any number may, and so may
// other slices of the same job: leases keep them apart.
import { blockedBecause, canRun, GIVEN_PIPELINES } from '../../core/claims/ability.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { mayHaveWork, nextSliceInMs } from '../../core/jobs/job-outlook.ts';
import { CLAIMABLE_STATES, isFinished, type JobState } from '../../core/jobs/job-state.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { rescueLeases } from '../../engine/flush/rescue-leases.ts';
import { endJob } from '../../engine/jobs/end-job.ts';
import { type LearnedBefore, loadLearnedTimes, storeLearnedTimes } from '../../engine/jobs/learned-times.ts';
import { ingestJob } from '../../ingest/ingest-job.ts';
import { abilityOf } from '../../pipeline/define-pipeline.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import type { Logger } from '../../platform/logger.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import { type Job, readJob } from '../../store/views/jobs/read-job.ts';
import { readJobOutlook } from '../../store/views/jobs/read-job-outlook.ts';
import { type Progress, readProgress } from '../../store/views/jobs/read-progress.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { RowmillWorker } from '../worker.ts';
import type { WorkerConnections } from './worker-connections.ts';

export interface SliceOptions {
  /** The job's must be among them. */
  pipelines: Pipeline[];
  /** Ends the slice early, as its time would. */
  signal?: AbortSignal;
  log?: Logger;
}

export interface SliceReport {
  jobId: string;
  /** After the slice. */
  state: JobState;
  /** Over, with its summary: nothing is left to call for. */
  finished: boolean;
  /** Outcomes that this slice wrote: results, steps to a next phase, and attempts that will be repeated. */
  recorded: number;
  progress: Progress;
  elapsedMs: number;
  /**
   * When another slice could get the job on. 0: at once. Otherwise the next retry is ready by then, or what another
   * process holds is worth another look. Null: not before somebody resumes the job, adds items or seals it; or it is finished.
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
  if (!isFinished(job.state) && job.state !== 'PAUSED') await endJob(context, jobId);
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
  /** Aborts when there is nothing more to do here. */
  readonly #end = new AbortController();
  /** Aborts when a handler was called, or there was nothing to call one for. */
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
      name: `slice of pid ${process.pid}`,
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
      // A short slice on a slow machine is over before its first claim is back: so it would be every time.
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

  /** Nothing runs here. Waits on only while something may come before the time is over. */
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

  /** The file of the job is read on, unless somebody else does it. */
  async #readFile(): Promise<void> {
    const { jobId, sealedAt, source } = this.#job;
    if (sealedAt !== null || source === null) return;
    try {
      await ingestJob(this.#context, jobId, this.#pipeline, this.#end.signal);
    } catch (error) {
      // Somebody else reads it, or it is of no use: then its job says so.
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
    hint: 'Give the pipeline that the job was made with, in its version and with its phases.',
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

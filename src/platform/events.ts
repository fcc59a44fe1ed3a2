// Events of the engine. Logs (log-events.ts), metrics and tests subscribe to them; the engine never waits for a
// subscriber.

import { EventEmitter } from 'node:events';
import type { ErrorClass, ItemStatus } from '../core/items/outcome.ts';
import type { JobState } from '../core/jobs/job-state.ts';
import type { Signs } from '../core/limits/back-pressure.ts';
import type { BufferLevel } from '../core/limits/buffer-level.ts';

export interface RowmillEvents {
  'items.added': { jobId: string; items: number; bytes: number; ms: number };
  'ingest.batch': {
    jobId: string;
    rows: number;
    rejected: number;
    ms: number;
    poolWaitMs: number;
    tries: number;
    /** Target size of the next batch. */
    nextRows: number;
  };
  'job.created': { jobId: string; ownerId: string; pipeline: string };
  'job.sealed': { jobId: string; total: number };
  /** The first claim of a generation. */
  'job.started': { jobId: string };
  'claim.made': {
    jobId: string;
    phase: number;
    asked: number;
    items: number;
    bytes: number;
    ms: number;
    reason: string;
  };
  'claim.failed': { error: unknown };
  'flush.committed': {
    jobId: string;
    phase: number;
    items: number;
    retried: number;
    /** Items queued for their next phase. */
    advanced: number;
    /** Finished items by status. */
    ended: Partial<Record<ItemStatus, number>>;
    bytes: number;
    ms: number;
    claimToCommitMs: number;
    trigger: string;
  };
  /** Scheduled retries of one flush, by error class. */
  'items.retrying': {
    jobId: string;
    phase: number;
    errorClass: ErrorClass;
    items: number;
    /** Highest attempt number among the items. */
    attempt: number;
    minDelayMs: number;
    maxDelayMs: number;
  };
  'flush.rolled_back': { jobId: string; items: number; error: unknown; kind: string };
  'flush.split': { jobId: string; items: number; error: unknown };
  'flush.fenced': { jobId: string; items: number };
  /** The fill level of the buffer of unflushed outcomes changed. At `full` the worker stops claiming. */
  'buffer.changed': { from: BufferLevel; to: BufferLevel; fullness: number; items: number; bytes: number };
  /** Contributions to counters that a committed flush added or replaced. */
  'counters.counted': { jobId: string; contributions: number; entries: number };
  'counters.folded': { deltas: number };
  /** Counter rows that differ from the sum of their contributions. */
  'counters.drifted': { level: string; rows: number };
  'lease.lost': { jobId: string; spanId: number };
  'lease.rescued': { jobId: string; phase: number; workerId: string; items: number; failed: number };
  'loop.stuck': { forMs: number };
  /** More than zombieHandlersMax aborted handlers have not returned. */
  'handlers.stuck': { count: number };
  'finalize.delayed': { jobId: string; generation: number; attempt: number; delayMs: number; error: unknown };
  'blobs.collected': { count: number };
  /** A worker changed its load because of local load signals. `from` and `to` are shares of claims and slots. */
  'pressure.changed': {
    from: number;
    to: number;
    reason: string;
    signs: Signs;
  };
  /** An error spike of a phase started or ended. `from` and `to` are shares of its slots. */
  'phase.spike': { pipeline: string; phase: string; from: number; to: number; reason: string };
  /** A limit of a resource changed. */
  'resource.decided': {
    name: string;
    key: string;
    kind: string;
    from: number | string;
    to: number | string;
    reason: string;
  };
  /** Calls of one key that finished since the last sync. */
  'resource.synced': { name: string; key: string; ok: number; throttled: number; failed: number };
  'resource.sync_failed': { error: unknown };
  /** `reason` names the budget that paused the job; null if a user paused it. */
  'job.paused': { jobId: string; reason: string | null };
  /** `released`: items that a test run held back. */
  'job.resumed': { jobId: string; state: JobState; released: number };
  'job.cancelling': { jobId: string };
  /** The file could not be read, or the output files could not be written. */
  'job.failed': { jobId: string; reason: string };
  'job.deleted': { jobId: string };
  'budget.sync_failed': { error: unknown };
  'job.reopened': {
    jobId: string;
    generation: number;
    selected: number;
    leftOut: { permanent: number; exhausted: number };
  };
  /** `error` is the value that the callback threw. It is retried until its attempts are used up. */
  'callback.failed': { jobId: string; generation: number; callback: string; attempt: number; error: unknown };
  /** `lagMs`: time since no rows were left to run; `runMs`: since the run began. Both by the database's clock. */
  'job.finished': {
    jobId: string;
    generation: number;
    state: string;
    outcome: string;
    counts: Partial<Record<ItemStatus, number>>;
    lagMs: number;
    runMs: number;
  };
  'worker.started': { workerId: string; name: string; pipelines: string[] };
  'worker.stopped': { workerId: string; unpersisted: number };
  'worker.unpersisted': { jobId: string; seqs: string; items: number; reason: string };
  'service.failed': { service: string; error: unknown };
  'source.file_taken': { source: string; path: string; bytes: number; jobId: string; ms: number };
  'source.file_failed': { source: string; path: string; reason: string };
  /** Skipped for a reason other than its content: a link, a file that is a job already, a file that changed. */
  'source.file_skipped': { source: string; path: string; reason: string };
  /** A transient error: the file waits for the next scan. */
  'source.file_released': { source: string; path: string; error: unknown; tries: number };
  /** `path` if only one file failed: it is a job already, but could not be moved away. */
  'source.scan_failed': { source: string; path?: string; error: unknown };
}

export type EventName = keyof RowmillEvents;

export class Events {
  readonly #emitter = new EventEmitter({ captureRejections: false }).setMaxListeners(0);

  emit<Name extends EventName>(name: Name, detail: RowmillEvents[Name]): void {
    this.#emitter.emit(name, detail);
  }

  on<Name extends EventName>(name: Name, listener: (detail: RowmillEvents[Name]) => void): () => void {
    this.#emitter.on(name, listener);
    return () => this.#emitter.off(name, listener);
  }

  /** Resolves with the next event of this name that satisfies `test`. */
  next<Name extends EventName>(
    name: Name,
    test: (detail: RowmillEvents[Name]) => boolean = () => true,
  ): Promise<RowmillEvents[Name]> {
    return new Promise((resolve) => {
      const off = this.on(name, (detail) => {
        if (!test(detail)) return;
        off();
        resolve(detail);
      });
    });
  }
}

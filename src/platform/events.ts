// Events of the engine. Logs (log-events.ts), metrics and tests subscribe; nothing waits for them.

import { EventEmitter } from 'node:events';
import type { Signs } from '../core/limits/back-pressure.ts';
import type { BufferLevel } from '../core/limits/buffer-level.ts';
import type { JobState } from '../core/jobs/job-state.ts';
import type { ErrorClass, ItemStatus } from '../core/items/outcome.ts';

export interface RowmillEvents {
  'items.added': { jobId: string; items: number; bytes: number; ms: number };
  'ingest.batch': {
    jobId: string;
    rows: number;
    rejected: number;
    ms: number;
    poolWaitMs: number;
    tries: number;
    /** Rows that the next batch aims at. */
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
    /** Items that wait for their next phase. */
    advanced: number;
    /** By status. Of a flush of which a part came too late, all that was sent. */
    ended: Partial<Record<ItemStatus, number>>;
    bytes: number;
    ms: number;
    claimToCommitMs: number;
    trigger: string;
  };
  /** Attempts of one flush that will be repeated, by error class. */
  'items.retrying': {
    jobId: string;
    phase: number;
    errorClass: ErrorClass;
    items: number;
    /** The last attempt of the item that was tried most often. */
    attempt: number;
    minDelayMs: number;
    maxDelayMs: number;
  };
  'flush.rolled_back': { jobId: string; items: number; error: unknown; kind: string };
  'flush.split': { jobId: string; items: number; error: unknown };
  'flush.fenced': { jobId: string; items: number };
  /** Outcomes that wait for their flush fill the buffer, or no longer do. At `full` nothing more is claimed. */
  'buffer.changed': { from: BufferLevel; to: BufferLevel; fullness: number; items: number; bytes: number };
  /** What a committed flush added to counters, or replaced in them. */
  'counters.counted': { jobId: string; contributions: number; entries: number };
  'counters.folded': { deltas: number };
  /** Rows whose numbers are not what was contributed. */
  'counters.drifted': { level: string; rows: number };
  'lease.lost': { jobId: string; spanId: number };
  'lease.rescued': { jobId: string; phase: number; workerId: string; items: number; failed: number };
  'loop.stuck': { forMs: number };
  /** More handlers than zombieHandlersMax were aborted and did not return. */
  'handlers.stuck': { count: number };
  'finalize.delayed': { jobId: string; generation: number; attempt: number; delayMs: number; error: unknown };
  'blobs.collected': { count: number };
  /** How much a worker takes on, from what it notices of its own side: part of claims and slots. */
  'pressure.changed': {
    from: number;
    to: number;
    reason: string;
    signs: Signs;
  };
  /** Failures of a phase rose above the usual, or it is over: part of its slots. */
  'phase.spike': { pipeline: string; phase: string; from: number; to: number; reason: string };
  /** Why more or less of a resource is used from now on. */
  'resource.decided': {
    name: string;
    key: string;
    kind: string;
    from: number | string;
    to: number | string;
    reason: string;
  };
  /** Calls of one key that ended since the last one. */
  'resource.synced': { name: string; key: string; ok: number; throttled: number; failed: number };
  'resource.sync_failed': { error: unknown };
  /** By itself, because it reached a budget; or by somebody, without a reason. */
  'job.paused': { jobId: string; reason: string | null };
  /** `released`: items that a trial held. */
  'job.resumed': { jobId: string; state: JobState; released: number };
  'job.cancelling': { jobId: string };
  /** Its file could not be read, or its output files could not be written. */
  'job.failed': { jobId: string; reason: string };
  'job.deleted': { jobId: string };
  'budget.sync_failed': { error: unknown };
  'job.reopened': {
    jobId: string;
    generation: number;
    selected: number;
    leftOut: { permanent: number; exhausted: number };
  };
  /** `error` is what it threw; it is called again until it was tried too often. */
  'callback.failed': { jobId: string; generation: number; callback: string; attempt: number; error: unknown };
  /** `lagMs`: from the moment at which nothing was left to run, by the clock of the database. */
  'job.finished': { jobId: string; generation: number; state: string; outcome: string; lagMs: number };
  'worker.started': { workerId: string; name: string; pipelines: string[] };
  'worker.stopped': { workerId: string; unpersisted: number };
  'worker.unpersisted': { jobId: string; seqs: string; items: number; reason: string };
  'service.failed': { service: string; error: unknown };
  'source.file_taken': { source: string; path: string; bytes: number; jobId: string; ms: number };
  'source.file_failed': { source: string; path: string; reason: string };
  /** Not taken, and not the fault of the file's content: a link, a file that is a job already, one that changed. */
  'source.file_skipped': { source: string; path: string; reason: string };
  /** A passing error: the file waits for the next scan. */
  'source.file_released': { source: string; path: string; error: unknown; tries: number };
  /** `path` where the trouble is with one file only: it is a job, but could not be moved away. */
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

  /** The next event of this name that satisfies the test. */
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

// What the engine says about itself. Logs, metrics and tests subscribe; nothing waits for them.

import { EventEmitter } from 'node:events';
import type { Signs } from '../core/back-pressure.ts';
import type { ItemStatus } from '../core/outcome.ts';

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
  'job.sealed': { jobId: string; total: number };
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
    /** By status. Of a flush of which a part came too late, all that was sent. */
    ended: Partial<Record<ItemStatus, number>>;
    bytes: number;
    ms: number;
    claimToCommitMs: number;
    trigger: string;
  };
  'flush.rolled_back': { jobId: string; items: number; error: unknown; kind: string };
  'flush.split': { jobId: string; items: number; error: unknown };
  'flush.fenced': { jobId: string; items: number };
  /** What a committed flush added to counters, or replaced in them. */
  'counters.counted': { jobId: string; contributions: number; entries: number };
  'counters.folded': { deltas: number };
  /** Rows whose numbers are not what was contributed. */
  'counters.drifted': { level: string; rows: number };
  'lease.lost': { jobId: string; spanId: number };
  'lease.rescued': { jobId: string; items: number; failed: number };
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
  /** Calls that ended since the last one, over all keys. */
  'resource.synced': { name: string; ok: number; throttled: number; failed: number };
  'resource.sync_failed': { error: unknown };
  /** By itself, because it reached a budget; or by somebody, without a reason. */
  'job.paused': { jobId: string; reason: string | null };
  'budget.sync_failed': { error: unknown };
  'job.reopened': {
    jobId: string;
    generation: number;
    selected: number;
    leftOut: { permanent: number; exhausted: number };
  };
  /** `error` is what it threw; it is called again until it was tried too often. */
  'callback.failed': { jobId: string; generation: number; callback: string; attempt: number; error: unknown };
  'job.finished': { jobId: string; generation: number; state: string; outcome: string };
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

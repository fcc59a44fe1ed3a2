// Interface of a system that takes part in the bench. Every contestant runs in its own child process
// (contestant-process.ts), one to enqueue and one per worker, so none shares a garbage collector or an event loop.
import type { Payload } from './payload.ts';

export interface ContestantOptions {
  databaseUrl: string;
  /** Number of items that this run enqueues and drains. */
  itemCount: number;
  /** Upper bound for one claim, or null for the contestant's best. */
  claimSize: number | null;
  payload: Payload;
}

export interface Contestant {
  /** Creates the schema in an empty database. Called once per database, not timed. */
  setup(): Promise<void>;
  /** Enqueues `itemCount` items of payload.ts; timed. Null if there is nothing to enqueue. */
  enqueue: (() => Promise<void>) | null;
  /** Opens connections and loads code, not timed: the drain starts with a worker that is ready but not claiming yet. */
  prepareWorker(): Promise<void>;
  /** Starts claiming. Calls `onFinished(n)` when n more items are done, after their commit if possible. */
  startWorker(onFinished: (items: number) => void): Promise<void>;
  /**
   * Returns the end of the drain: the time (monotonicMs) at which the outcome of every item was committed. Null if
   * `onFinished` is only called after the commit, so that its last call is the end. Called on every worker once all
   * items are reported.
   */
  settle(): Promise<number | null>;
  /** Counts finished items in the database, to verify the drain. */
  countFinished(): Promise<number>;
  /** Stops the worker, if one was started, and closes every connection. */
  close(): Promise<void>;
  /**
   * Runs small jobs one after another and returns for each the milliseconds from the commit of its last outcome until
   * the job is visible as finished. Only for systems with jobs of many items.
   */
  measureFinishLag?: (jobs: number) => Promise<number[]>;
  /** Stores and finishes this many items, before `enqueue`. Not timed. */
  addHistory?: (items: number) => Promise<void>;
  /** Starts readers of the items that are being drained. */
  startReaders?: (count: number) => Promise<void>;
  /** Stops them and returns the milliseconds that each page took. */
  stopReaders?: () => Promise<number[]>;
}

/** Each file in contestants/ exports a function of this shape as `createContestant`. */
export type CreateContestant = (options: ContestantOptions) => Contestant;

export interface Entry {
  key: 'rowmill' | 'graphileWorker' | 'pgBoss' | 'bullmq' | 'bareLoop' | 'copyLimit';
  file: string;
  /** A limit has no queue, so it takes part in few scenarios. */
  isLimit: boolean;
  /** Most items of a drain: a slower contestant gets fewer, because it would take most of the time. */
  maxItems: number;
}

export const entries: readonly Entry[] = [
  { key: 'rowmill', file: 'rowmill.ts', isLimit: false, maxItems: Number.POSITIVE_INFINITY },
  { key: 'graphileWorker', file: 'graphile-worker.ts', isLimit: false, maxItems: 200_000 },
  { key: 'pgBoss', file: 'pg-boss.ts', isLimit: false, maxItems: 200_000 },
  { key: 'bullmq', file: 'bullmq.ts', isLimit: false, maxItems: 10_000 },
  { key: 'bareLoop', file: 'bare-loop.ts', isLimit: true, maxItems: Number.POSITIVE_INFINITY },
  { key: 'copyLimit', file: 'copy-limit.ts', isLimit: true, maxItems: Number.POSITIVE_INFINITY },
];

// What a system must offer to take part in the bench. Every contestant is created inside a child process of its own
// (contestant-process.ts), one process to enqueue and one per worker, so no garbage collector or event loop is shared.

export interface ContestantOptions {
  databaseUrl: string;
  /** Items which this run enqueues and drains. */
  itemCount: number;
  /** Upper bound for one claim, or null for the contestant's best. */
  claimSize: number | null;
}

export interface Contestant {
  /** Makes the schema in an empty database. Called once per database, not timed. */
  setup(): Promise<void>;
  /** Puts `itemCount` items ({ n: 0 } .. { n: itemCount - 1 }) into the queue; timed. Null: nothing to enqueue. */
  enqueue: (() => Promise<void>) | null;
  /** Opens connections and loads code, not timed: drain starts from a worker which is ready but not yet claiming. */
  prepareWorker(): Promise<void>;
  /** Starts claiming. Calls `onFinished(n)` whenever n more items are done, if possible once they are committed. */
  startWorker(onFinished: (items: number) => void): Promise<void>;
  /**
   * The end of the drain: the time (monotonicMs) at which the outcome of every item in the database was committed, or
   * null when `onFinished` is only called after the commit, so that the last call is the end. Called on every worker
   * once all items are reported.
   */
  settle(): Promise<number | null>;
  /** Reads from the database how many items are finished: the proof that the drain was one. */
  countFinished(): Promise<number>;
  /** Stops the worker, if one was started, and closes every connection. */
  close(): Promise<void>;
  /**
   * Runs small jobs one after another and returns for each the milliseconds from the commit of its last item's outcome
   * until the job is visible as finished. Only for systems which know jobs of many items.
   */
  measureFinishLag?: (jobs: number) => Promise<number[]>;
}

/** Each file in contestants/ exports a function of this shape as `createContestant`. */
export type CreateContestant = (options: ContestantOptions) => Contestant;

/** The work of one item, the same for all. */
export async function handleItem(item: { n: number }): Promise<{ ok: true; n: number }> {
  return { ok: true, n: item.n };
}

export interface Entry {
  key: 'rowmill' | 'graphileWorker' | 'pgBoss' | 'bullmq' | 'copyLimit';
  file: string;
  /** The limit has no queue: it only takes part in `drain`. */
  isLimit: boolean;
  /** Part of the items that a contestant gets which is so slow that it would take most of the time. */
  share: number;
}

export const entries: readonly Entry[] = [
  { key: 'rowmill', file: 'rowmill.ts', isLimit: false, share: 1 },
  { key: 'graphileWorker', file: 'graphile-worker.ts', isLimit: false, share: 1 },
  { key: 'pgBoss', file: 'pg-boss.ts', isLimit: false, share: 1 },
  { key: 'bullmq', file: 'bullmq.ts', isLimit: false, share: 0.05 },
  { key: 'copyLimit', file: 'copy-limit.ts', isLimit: true, share: 1 },
];

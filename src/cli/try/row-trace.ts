// The trace of one row: every call of its handlers, with its attempt, log, cost, timing and outcome.
import type { ThrownError } from '../../core/errors/thrown-error.ts';
import type { FetchRecord } from '../../core/items/fetch-records.ts';
import type { Contribution } from '../../core/items/counter.ts';
import type { ErrorClass, ItemStatus } from '../../core/items/outcome.ts';

/** Log lines, emitted rows and counts that one call keeps; the others are only counted. */
export const MAX_KEPT = 1000;

export interface TracedLog {
  /** Since the start of the try. */
  atMs: number;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown>;
}

export interface TracedCall {
  phase: string;
  /** Counted from 1 in each phase. */
  attempt: number;
  /** Calls of this class that may fail, for a call that failed; else null. */
  maxAttempts: number | null;
  strategy: string | null;
  /** Since the start of the try. */
  startedMs: number;
  handlerMs: number;
  /** `advanced`: continues in the next phase. `retry`: a further attempt follows after `retryAfterMs`. */
  outcome: 'advanced' | 'retry' | 'crashed' | Lowercase<ItemStatus>;
  /** Value for the next phase, or the result; the reason of a skipped row. */
  output: unknown;
  errorClass: ErrorClass | null;
  error: string | null;
  /** The error as the handler threw it; null if the handler threw none. */
  thrown: ThrownError | null;
  retryAfterMs: number | null;
  /** Null: no cost is known. */
  cost: number | null;
  logs: TracedLog[];
  /** Log lines that were not kept. */
  logsLeftOut: number;
  /** Requests that the call sent by `context.fetch`. */
  fetches: FetchRecord[];
  /** Rows that the call added to its job. A try does not run them. */
  emitted: { key: string; input: unknown }[];
  emittedLeftOut: number;
  counted: readonly Contribution[];
}

export interface RowTrace {
  /** RETRYING: the try stopped before the next attempt. */
  status: ItemStatus | 'RETRYING';
  /** The phase of the last call. */
  phase: string;
  result: unknown;
  errorClass: ErrorClass | null;
  error: string | null;
  calls: TracedCall[];
  /** From the first call to the last outcome, including waits. */
  totalMs: number;
  handlerMs: number;
  /** Waits between attempts. */
  waitedMs: number;
  /** Null: no call has a known cost. */
  cost: number | null;
  /** Unit of the costs; null if the pipeline declares none. */
  costUnit: string | null;
}

// The result of a pipeline run in a test.
import type { ErrorClass, ItemStatus } from '../core/items/outcome.ts';
import type { LogEntry } from './captured-log.ts';
import type { CountedEntry } from './counted-entries.ts';

/** The outcome of one handler call. */
export interface HistoryEntry {
  phase: string;
  /** Counted from 1 in each phase. A crash does not use up an attempt. */
  attempt: number;
  /** `advanced`: continues in the next phase. `retry`: will be retried. `crashed`: the process crashed. */
  outcome: 'advanced' | 'retry' | 'crashed' | Lowercase<ItemStatus>;
  errorClass: ErrorClass | null;
  error: string | null;
  /** When the call returned, in virtual time since the start of the run. */
  atMs: number;
  /** Wait before the next attempt; null unless the outcome is `retry`, and always null on a database. */
  retryAfterMs: number | null;
}

/** `Result` is the return type of the last phase of the pipeline. */
export interface RowResult<Result = unknown> {
  /** Position of the row, from 0. */
  seq: number;
  row: Record<string, unknown>;
  status: ItemStatus;
  /** The result after a round trip through JSON, as the database stores it. Null unless the row is DONE. */
  result: Result | null;
  errorClass: ErrorClass | null;
  error: string | null;
  /** Attempts in the phase in which the row finished. */
  attempts: number;
  /** The phase in which the row finished. */
  phase: string;
  /** On a database, calls that advanced or crashed are missing, because they are not stored. */
  history: HistoryEntry[];
}

export interface RunErrorGroup {
  phase: string;
  signature: string;
  errorClass: string;
  sample: string;
  sampleSeq: number;
  /** Failed attempts, including those that were retried. */
  occurrences: number;
}

export interface PipelineRun<Result = unknown> {
  /** In the order of the rows. */
  results: RowResult<Result>[];
  counts: Record<ItemStatus, number>;
  /** The most frequent first. */
  errorGroups: RunErrorGroup[];
  /** Counter totals of the run, sorted by counter, scope and entity. */
  counted: CountedEntry[];
  /** Duration of the run in virtual time; on a database, in real time. */
  virtualMs: number;
  logs: LogEntry[];
}

/** Rows with this status. */
export function rowsWith<Result>(run: PipelineRun<Result>, status: ItemStatus): RowResult<Result>[] {
  return run.results.filter((result) => result.status === status);
}

/** Waits between the attempts of a row, in order. */
export function retryWaits(result: RowResult): number[] {
  return result.history.flatMap(({ retryAfterMs }) => (retryAfterMs === null ? [] : [retryAfterMs]));
}

/** Formats the run with a line per call, for the message of a failing test. */
export function describeRun(run: PipelineRun): string {
  const lines = run.results.flatMap(({ seq, status, history }) => [
    `row ${seq + 1}: ${status}`,
    ...history.map(({ atMs, phase, attempt, outcome, errorClass, error }) => {
      const why = error === null ? '' : ` (${errorClass}: ${error})`;
      return `  ${atMs} ms: ${phase}, attempt ${attempt}: ${outcome}${why}`;
    }),
  ]);
  return lines.join('\n');
}

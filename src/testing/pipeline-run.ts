// What a run of a pipeline in a test gives back.
import type { ErrorClass, ItemStatus } from '../core/items/outcome.ts';
import type { LogEntry } from './captured-log.ts';
import type { CountedEntry } from './counted-entries.ts';

/** How one call of a handler ended. */
export interface HistoryEntry {
  phase: string;
  /** Counted from 1 in each phase. A crash does not use up an attempt. */
  attempt: number;
  /** `advanced`: on to the next phase. `retry`: will be tried again. `crashed`: the process ended. */
  outcome: 'advanced' | 'retry' | 'crashed' | Lowercase<ItemStatus>;
  errorClass: ErrorClass | null;
  error: string | null;
  /** When the call ended, in virtual time since the start of the run. */
  atMs: number;
  /** How long the item waits for its next attempt; null unless the outcome is `retry`, and on a database. */
  retryAfterMs: number | null;
}

/** `Result` is what the last phase of the pipeline returned. */
export interface RowResult<Result = unknown> {
  /** Position of the row, from 0. */
  seq: number;
  row: Record<string, unknown>;
  status: ItemStatus;
  /** As it would be read from the database: JSON, not the object that the handler returned. Null unless the row is DONE. */
  result: Result | null;
  errorClass: ErrorClass | null;
  error: string | null;
  /** Of the phase in which the row ended. */
  attempts: number;
  /** In which the row ended. */
  phase: string;
  /** On a database without the calls that advanced or crashed: they leave no trace of their own. */
  history: HistoryEntry[];
}

export interface RunErrorGroup {
  phase: string;
  signature: string;
  errorClass: string;
  sample: string;
  sampleSeq: number;
  /** Failed attempts, those that were tried again included. */
  occurrences: number;
}

export interface PipelineRun<Result = unknown> {
  /** In the order of the rows. */
  results: RowResult<Result>[];
  counts: Record<ItemStatus, number>;
  /** The most frequent first. */
  errorGroups: RunErrorGroup[];
  /** What the run contributed to the counters of the pipeline, by counter, scope and entity. */
  counted: CountedEntry[];
  /** How long the run took in virtual time; on a database, in real time. */
  virtualMs: number;
  logs: LogEntry[];
}

/** The rows that ended this way. */
export function rowsWith<Result>(run: PipelineRun<Result>, status: ItemStatus): RowResult<Result>[] {
  return run.results.filter((result) => result.status === status);
}

/** The waits between the attempts of a row, in order. */
export function retryWaits(result: RowResult): number[] {
  return result.history.flatMap(({ retryAfterMs }) => (retryAfterMs === null ? [] : [retryAfterMs]));
}

/** The run as text, a line per call: for the message of a failing test. */
export function describeRun(run: PipelineRun): string {
  const lines = run.results.flatMap(({ seq, status, history }) => [
    `row ${seq}: ${status}`,
    ...history.map(({ atMs, phase, attempt, outcome, errorClass, error }) => {
      const why = error === null ? '' : ` (${errorClass}: ${error})`;
      return `  ${atMs} ms: ${phase}, attempt ${attempt}: ${outcome}${why}`;
    }),
  ]);
  return lines.join('\n');
}

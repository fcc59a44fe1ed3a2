// One row of a job as exports read it: an item and the newest result that a generation shows for it. Input and result
// stay JSON text until somebody needs their fields.
import type { ItemStatus } from '../items/outcome.ts';

/** PENDING: there is no result yet. */
export type RowStatus = ItemStatus | 'PENDING';

export interface ExportRow {
  seq: number;
  inputJson: string;
  status: RowStatus;
  /** Attempts made. */
  attempts: number | null;
  errorClass: string | null;
  error: string | null;
  resultJson: string | null;
  /** These two only where they were asked for. */
  phase: number | null;
  finishedAtMs: number | null;
  /** The row that emitted it; null for rows of the file. Absent in jobs without emitted rows. */
  parentSeq?: number | null;
}

/** The same row for programs. `Result` is what the last phase of its pipeline returned. */
export interface ResultRow<Result = unknown> {
  seq: number;
  input: Record<string, unknown>;
  status: RowStatus;
  /** Null until the row is DONE. */
  result: Result | null;
  errorClass: string | null;
  error: string | null;
  attempts: number | null;
  finishedAt: Date | null;
}

export function toResultRow<Result>(row: ExportRow): ResultRow<Result> {
  return {
    seq: row.seq,
    input: JSON.parse(row.inputJson) as Record<string, unknown>,
    status: row.status,
    result: row.resultJson === null ? null : (JSON.parse(row.resultJson) as Result),
    errorClass: row.errorClass,
    error: row.error,
    attempts: row.attempts,
    finishedAt: row.finishedAtMs === null ? null : new Date(row.finishedAtMs),
  };
}

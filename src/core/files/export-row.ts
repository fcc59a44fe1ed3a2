// One row of a job as exports read it: an item and its newest result up to a generation. Input and result stay JSON
// text until their fields are needed.
import type { ItemStatus } from '../items/outcome.ts';

/** PENDING means that there is no result yet. */
export type RowStatus = ItemStatus | 'PENDING';

export interface ExportRow {
  seq: number;
  inputJson: string;
  status: RowStatus;
  attempts: number | null;
  errorClass: string | null;
  error: string | null;
  resultJson: string | null;
  /** `phase` and `finishedAtMs` are null unless the export requests them. */
  phase: number | null;
  finishedAtMs: number | null;
  /** Seq of the parent row; null for rows of the file. Absent in jobs without emitted rows. */
  parentSeq?: number | null;
}

/** The same row for programs. `Result` is the return type of the pipeline's last phase. */
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

// Checks the first rows of a file against a pipeline's input schema before anything is stored, within bounds of rows
// and time. Its report counts the rows that would not run.
import { listIssues, type SchemaIssue } from '../pipeline/input-schema.ts';
import { monotonicMs, turnOfLoop } from '../platform/clock.ts';
import type { PreviewEncoder } from './preview-encoder.ts';
import type { ReadRow, RowReader } from './row-reader.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

export interface CheckBounds {
  rows: number;
  ms: number;
}

export interface RowCheck {
  rows: number;
  /** Rows that cannot be read and will not be stored. */
  rejected: number;
  /** Rows that the input schema refuses: they are stored as failed without running. */
  refused: number;
  /** The first reasons for which rows are rejected or refused. */
  reasons: { line: number; reason: string }[];
  wholeFile: boolean;
  /** The bound that stopped the check before the end of the file. */
  stoppedBy: 'rows' | 'time' | null;
}

export interface SeenRow {
  /** The row as it would be stored; null if it would be rejected. */
  input: Record<string, unknown> | null;
  /** Length of the row as JSON. */
  bytes: number;
  problems: SchemaIssue[];
}

const MAX_REASONS = 5;
const MAX_REASON_LENGTH = 500;

/** `see` gets every row that is checked. */
export async function checkRows(
  reader: RowReader,
  encode: PreviewEncoder['encode'],
  pipeline: Pipeline | null,
  bounds: CheckBounds,
  see: (row: ReadRow, seen: SeenRow) => void,
): Promise<RowCheck> {
  const check: RowCheck = {
    rows: 0,
    rejected: 0,
    refused: 0,
    reasons: [],
    wholeFile: true,
    stoppedBy: null,
  };
  const endMs = monotonicMs() + bounds.ms;
  for await (const batch of reader.rows()) {
    for (const row of batch) {
      if (check.rows >= bounds.rows) return { ...check, wholeFile: false, stoppedBy: 'rows' };
      if (check.rows > 0 && monotonicMs() >= endMs) return { ...check, wholeFile: false, stoppedBy: 'time' };
      const { issues, ...seen } = await lookAtRow(row, encode, pipeline);
      check.rows += 1;
      if (seen.input === null) check.rejected += 1;
      else if (issues.length > 0) check.refused += 1;
      if (issues.length > 0 && check.reasons.length < MAX_REASONS) {
        check.reasons.push({ line: row.line, reason: describeIssues(issues) });
      }
      see(row, seen);
    }
    await turnOfLoop();
  }
  return check;
}

/** `issues` keep the row from running; `problems` also include repairs. */
async function lookAtRow(
  row: ReadRow,
  encode: PreviewEncoder['encode'],
  pipeline: Pipeline | null,
): Promise<SeenRow & { issues: SchemaIssue[] }> {
  const encoded = row.kind === 'rejected' ? { ok: false as const, reason: row.reason } : encode(row);
  if (!encoded.ok) {
    const issues = [{ field: null, message: encoded.reason }];
    return { input: null, bytes: 0, problems: issues, issues };
  }
  const { json, repair } = encoded.row;
  const input = JSON.parse(json) as Record<string, unknown>;
  const issues = pipeline?.input ? await listIssues(pipeline.input, input) : [];
  const problems = repair === null ? issues : [{ field: null, message: repair }, ...issues];
  return { input, bytes: json.length, problems, issues };
}

function describeIssues(issues: SchemaIssue[]): string {
  const parts = issues.map(({ field, message }) => (field === null ? message : `${field}: ${message}`));
  return parts.join('; ').slice(0, MAX_REASON_LENGTH).toWellFormed();
}

// Checks rows of a file against a pipeline's input schema before anything is stored, within bounds of rows and time. It
// counts the rows that would not run, in total and by kind of problem, and yields to the event loop often: it may read a
// whole file while the process answers requests.
import { listIssues, type SchemaIssue } from '../pipeline/input-schema.ts';
import { monotonicMs, turnOfLoop } from '../platform/clock.ts';
import type { PreviewEncoder } from './preview-encoder.ts';
import type { ReadRow, RowReader } from './row-reader.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

export interface CheckBounds {
  rows: number;
  ms: number;
}

export interface ProblemKind {
  /** Null for problems of the whole row. */
  field: string | null;
  kind: string;
  rows: number;
}

export interface RowCheck {
  rows: number;
  /** Rows that cannot be read and will not be stored. */
  rejected: number;
  /** Rows that the input schema refuses: they are stored as failed without running. */
  refused: number;
  /** Rows by kind of problem, the most frequent first. A row with several problems counts in each. */
  kinds: ProblemKind[];
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
/** A schema may put the value into its message, so that every row has a kind of its own. */
const MAX_KINDS = 100;
const OTHER_KINDS = 'other problems';
/** Length of a stretch of work between turns of the event loop. */
const STRETCH_MS = 10;

export const UNREADABLE = 'cannot be read';
export const REPAIRED = 'repaired';

/** `see` gets every row that is checked, and the counts so far. */
export async function checkRows(
  reader: RowReader,
  encode: PreviewEncoder['encode'],
  pipeline: Pipeline | null,
  bounds: CheckBounds,
  see: (row: ReadRow, seen: SeenRow, soFar: RowCheck) => void | Promise<void>,
): Promise<RowCheck> {
  const kinds = new Map<string, ProblemKind>();
  const check: RowCheck = {
    rows: 0,
    rejected: 0,
    refused: 0,
    kinds: [],
    reasons: [],
    wholeFile: true,
    stoppedBy: null,
  };
  const ended = (stoppedBy: RowCheck['stoppedBy']): RowCheck => ({
    ...check,
    kinds: [...kinds.values()].sort((a, b) => b.rows - a.rows),
    wholeFile: stoppedBy === null,
    stoppedBy,
  });
  const endMs = monotonicMs() + bounds.ms;
  let turnedMs = monotonicMs();
  for await (const batch of reader.rows()) {
    for (const row of batch) {
      const nowMs = monotonicMs();
      if (check.rows >= bounds.rows) return ended('rows');
      if (check.rows > 0 && nowMs >= endMs) return ended('time');
      if (nowMs - turnedMs >= STRETCH_MS) {
        await turnOfLoop();
        turnedMs = monotonicMs();
      }
      const { issues, ...seen } = await lookAtRow(row, encode, pipeline);
      check.rows += 1;
      if (seen.input === null) check.rejected += 1;
      else if (issues.length > 0) check.refused += 1;
      countKinds(kinds, seen.problems);
      if (issues.length > 0 && check.reasons.length < MAX_REASONS) {
        check.reasons.push({ line: row.line, reason: describeIssues(issues) });
      }
      await see(row, seen, check);
    }
  }
  return ended(null);
}

function countKinds(kinds: Map<string, ProblemKind>, problems: readonly SchemaIssue[]): void {
  const counted = new Set<ProblemKind>();
  for (const { field, kind } of problems) {
    const key = JSON.stringify([field, kind]);
    const isNew = !kinds.has(key) && kinds.size >= MAX_KINDS;
    const at = isNew ? OTHER_KINDS : key;
    const known =
      kinds.get(at) ?? (isNew ? { field: null, kind: OTHER_KINDS, rows: 0 } : { field, kind, rows: 0 });
    kinds.set(at, known);
    if (!counted.has(known)) known.rows += 1;
    counted.add(known);
  }
}

/** `issues` keep the row from running; `problems` also include repairs. */
async function lookAtRow(
  row: ReadRow,
  encode: PreviewEncoder['encode'],
  pipeline: Pipeline | null,
): Promise<SeenRow & { issues: SchemaIssue[] }> {
  const encoded = row.kind === 'rejected' ? { ok: false as const, reason: row.reason } : encode(row);
  if (!encoded.ok) {
    const issues = [{ field: null, message: encoded.reason, kind: UNREADABLE }];
    return { input: null, bytes: 0, problems: issues, issues };
  }
  const { json, repair } = encoded.row;
  const input = JSON.parse(json) as Record<string, unknown>;
  const issues = pipeline?.input ? await listIssues(pipeline.input, input) : [];
  const problems = repair === null ? issues : [{ field: null, message: repair, kind: REPAIRED }, ...issues];
  return { input, bytes: json.length, problems, issues };
}

function describeIssues(issues: SchemaIssue[]): string {
  const parts = issues.map(({ field, message }) => (field === null ? message : `${field}: ${message}`));
  return parts.join('; ').slice(0, MAX_REASON_LENGTH).toWellFormed();
}

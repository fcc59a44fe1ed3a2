// Items and rejected rows are written by COPY in text format. The lines are built next to the columns they must
// match; a value never reaches the server unescaped.
import type { Statement, Transaction } from '../../../platform/database.ts';

const COPY_ITEMS: Statement = {
  name: 'copy-items',
  text: 'copy items (job_id, seq, input_bytes, input, item_key, summary, repair) from stdin',
};
const COPY_REJECTED_ROWS: Statement = {
  name: 'copy-rejected-rows',
  text: 'copy rejected_rows (job_id, ordinal, line, reason, raw) from stdin',
};
export const NULL_FIELD = '\\N';

/** JSON text holds no raw tab or line break, so only its backslashes need doubling. */
export function jsonField(json: string): string {
  return json.includes('\\') ? json.replaceAll('\\', '\\\\') : json;
}

const SPECIAL_ONCE = /[\\\t\n\r]/;
const SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

export function textField(text: string): string {
  // Most texts need no escaping, and testing is cheaper than replacing.
  return SPECIAL_ONCE.test(text) ? escapeText(text) : text;
}

export function optionalText(text: string | null): string {
  return text === null ? NULL_FIELD : textField(text);
}

function escapeText(text: string): string {
  return text.replace(SPECIAL, (character) => ESCAPES[character]!);
}

/**
 * Lines are sent in pieces: a text of megabytes that is built row by row outlives the young generation, and memory
 * grows with it.
 */
const PIECE_LENGTH = 64 * 1024;

export interface ItemRow {
  /** Input as JSON text that jsonb accepts. */
  json: string;
  key: string | null;
  summary: string | null;
  repair: string | null;
}

/** Seqs are consecutive, starting with the first. */
export async function copyItems(
  tx: Transaction,
  jobId: string,
  firstSeq: number,
  rows: readonly ItemRow[],
): Promise<void> {
  const pieces: Buffer[] = [];
  let piece = '';
  let seq = firstSeq;
  for (const { json, key, summary, repair } of rows) {
    piece += `${jobId}\t${seq}\t${Buffer.byteLength(json)}\t${jsonField(json)}\t${optionalText(key)}\t${optionalText(summary)}\t${optionalText(repair)}\n`;
    seq += 1;
    if (piece.length < PIECE_LENGTH) continue;
    pieces.push(Buffer.from(piece));
    piece = '';
  }
  pieces.push(Buffer.from(piece));
  await tx.copy(COPY_ITEMS, pieces);
}

export interface RejectedInput {
  line: number;
  reason: string;
  raw: string;
}

/** Ordinals are consecutive, starting with the first. */
export async function copyRejectedRows(
  tx: Transaction,
  jobId: string,
  firstOrdinal: number,
  rejected: readonly RejectedInput[],
): Promise<void> {
  let lines = '';
  let ordinal = firstOrdinal;
  for (const { line, reason, raw } of rejected) {
    lines += `${jobId}\t${ordinal}\t${line}\t${textField(reason)}\t${textField(raw)}\n`;
    ordinal += 1;
  }
  await tx.copy(COPY_REJECTED_ROWS, lines);
}

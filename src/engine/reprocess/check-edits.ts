// Checks edited inputs before they are stored: the items exist, the inputs are valid rows, and natural keys are
// unchanged.
import type { InputColumn } from '../../core/items/input-column.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ItemEdit } from '../../store/commands/items/insert-item-edits.ts';
import { exportItems } from '../../store/views/exports/export-items.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { toRow } from '../items/add-items.ts';
import type { EngineContext } from '../engine-context.ts';

/**
 * More than a person edits, and as much as one transaction stores within seconds. For more, submit a corrected file.
 */
export const MAX_EDITS = 50_000;

export interface InputEdit {
  seq: number;
  /** The complete new input. */
  input: unknown;
}

export interface CheckedEdit extends ItemEdit {
  keys: string[];
}

export async function checkEdits(
  context: EngineContext,
  job: Job,
  edits: readonly InputEdit[],
): Promise<CheckedEdit[]> {
  if (edits.length === 0) return [];
  if (edits.length > MAX_EDITS) {
    throw new RowmillError(
      'REPROCESS_INVALID',
      `expected at most ${MAX_EDITS} edited items, got ${edits.length}`,
      { hint: 'Submit the corrected file with --update: unchanged rows keep their results.' },
    );
  }
  const checked = new Map<number, { edit: CheckedEdit; input: Record<string, unknown> }>();
  for (const { seq, input } of edits) {
    if (checked.has(seq)) throw new RowmillError('REPROCESS_INVALID', `item ${seq} is edited twice`);
    if (!Number.isSafeInteger(seq) || seq < 0 || seq >= job.itemCount)
      throw new RowmillError(
        'ITEM_NOT_FOUND',
        `job ${job.jobId} has ${job.itemCount} items, there is no ${seq}`,
      );
    const { json, summary } = toRow(input, seq);
    const fields = input as Record<string, unknown>;
    const edit = { seq, json, summary, keys: Object.keys(JSON.parse(json) as object) };
    checked.set(seq, { edit, input: fields });
  }
  if (job.keyColumns.length > 0) await checkKeys(context, job, checked);
  return [...checked.values()].map(({ edit }) => edit);
}

async function checkKeys(
  context: EngineContext,
  { jobId, generation, keyColumns }: Job,
  edits: Map<number, { input: Record<string, unknown> }>,
): Promise<void> {
  let asked = [...edits.keys()].sort((a, b) => a - b);
  while (asked.length > 0) {
    const rows = await exportItems(context.db, jobId, generation, asked);
    if (rows.length === 0) return;
    for (const { seq, inputJson } of rows) {
      const before = JSON.parse(inputJson) as Record<string, unknown>;
      const after = edits.get(seq)!.input;
      const changed = keyColumns.find((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
      if (changed !== undefined)
        throw new RowmillError(
          'REPROCESS_INVALID',
          `expected the edit of item ${seq} to keep ${changed}, which identifies the row: it is ${JSON.stringify(before[changed])}`,
        );
    }
    const last = rows.at(-1)!.seq;
    asked = asked.filter((seq) => seq > last);
  }
}

export function columnsOfEdits(edits: CheckedEdit[]): InputColumn[] {
  const names = new Set(edits.flatMap((edit) => edit.keys));
  return [...names].map((key) => ({ key, header: key }));
}

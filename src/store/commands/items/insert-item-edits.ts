import type { Executor, Statement } from '../../../platform/database.ts';

const INSERT_ITEM_EDITS: Statement = {
  name: 'insert-item-edits',
  text: `
    insert into item_edits (job_id, seq, generation, input_bytes, input, summary)
    select $1, e.seq, $2, e.input_bytes, e.input, e.summary
    from unnest($3::bigint[], $4::int[], $5::jsonb[], $6::text[]) as e(seq, input_bytes, input, summary)`,
};

export interface ItemEdit {
  seq: number;
  json: string;
  summary: string | null;
}

export async function insertItemEdits(
  db: Executor,
  jobId: string,
  generation: number,
  edits: ItemEdit[],
): Promise<void> {
  if (edits.length === 0) return;
  await db.run(INSERT_ITEM_EDITS, [
    jobId,
    generation,
    edits.map((edit) => edit.seq),
    edits.map((edit) => Buffer.byteLength(edit.json)),
    edits.map((edit) => edit.json),
    edits.map((edit) => edit.summary),
  ]);
}

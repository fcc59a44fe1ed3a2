// The blob of a row's image. It is read from the original input of a row of the file: an edited or emitted input
// could name any key.
import type { Executor, Statement } from '../../../platform/database.ts';

// Index: items_pkey.
const READ_ITEM_IMAGE: Statement = {
  name: 'read-item-image',
  text: `
    select case when i.parent_seq is null then i.input ->> $3::text end as blob_key, i.input ->> $4::text as name
    from items i
    where i.job_id = $1 and i.seq = $2`,
};

export interface ItemImage {
  /** Null if the row has no image. */
  blobKey: string | null;
  name: string | null;
}

/** `keys`: fields of the input with the blob key and the file name. Returns null if there is no such row. */
export async function readItemImage(
  db: Executor,
  jobId: string,
  seq: number,
  keys: { blob: string; name: string },
): Promise<ItemImage | null> {
  const { rows } = await db.run<{ blob_key: string | null; name: string | null }>(READ_ITEM_IMAGE, [
    jobId,
    seq,
    keys.blob,
    keys.name,
  ]);
  return rows[0] ? { blobKey: rows[0].blob_key, name: rows[0].name } : null;
}

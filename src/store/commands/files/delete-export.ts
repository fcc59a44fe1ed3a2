import type { Executor, Statement } from '../../../platform/database.ts';

const DELETE_EXPORT: Statement = {
  name: 'delete-export',
  text: 'delete from exports where export_id = $1 and expires_at <= now()',
};

/** Its bytes went before it: a row that is there leads to what is left of them. */
export async function deleteExport(db: Executor, exportId: string): Promise<void> {
  await db.run(DELETE_EXPORT, [exportId]);
}

import type { Executor, Statement } from '../../../platform/database.ts';

const READ_CURSOR_KEY: Statement = { name: 'read-cursor-key', text: 'select key from cursor_keys' };

/** The key was created by the migration. */
export async function readCursorKey(db: Executor): Promise<Buffer> {
  const { rows } = await db.run<{ key: Buffer }>(READ_CURSOR_KEY);
  return rows[0]!.key;
}

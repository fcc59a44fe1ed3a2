import type { Executor, Statement } from '../../../platform/database.ts';

const FIND_KNOWN_EXPORTS: Statement = {
  name: 'find-known-exports',
  text: 'select export_id::text from exports where export_id = any($1::uuid[])',
};

/** Which of these exports there are: their row leads to their bytes. */
export async function findKnownExports(db: Executor, exportIds: string[]): Promise<Set<string>> {
  return new Set((await db.runArrays(FIND_KNOWN_EXPORTS, [exportIds])).map((row) => row[0] as string));
}

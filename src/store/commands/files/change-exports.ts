import type { Executor, Statement } from '../../../platform/database.ts';

// The id is created outside the retry, so a retried insert finds its own row.
const INSERT_EXPORT: Statement = {
  name: 'insert-export',
  text: `
    insert into exports (export_id, job_id, owner_id, request, name, content_type, generation)
    values ($1, $2, $3, $4, $5, $6, $7)
    on conflict (export_id) do nothing
    returning export_id`,
};

export interface NewExport {
  exportId: string;
  jobId: string;
  ownerId: string;
  /** Read by run-exports.ts. */
  request: object;
  name: string;
  contentType: string;
  generation: number;
}

/** Returns false if the export already exists. */
export async function insertExport(db: Executor, given: NewExport): Promise<boolean> {
  const { exportId, jobId, ownerId, request, name, contentType, generation } = given;
  const values = [exportId, jobId, ownerId, JSON.stringify(request), name, contentType, generation];
  return (await db.run(INSERT_EXPORT, values)).rowCount === 1;
}

const DELETE_EXPORT: Statement = {
  name: 'delete-export',
  text: 'delete from exports where export_id = $1 and expires_at <= now()',
};

/** Its files are deleted first, because the row leads to those that remain. */
export async function deleteExport(db: Executor, exportId: string): Promise<void> {
  await db.run(DELETE_EXPORT, [exportId]);
}

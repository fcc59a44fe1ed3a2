// The application's own tables: the text of each document, and the current annotations of each project. A row of an
// upload has one key here, so that storing it again changes nothing.
import pg from 'pg';

interface StoredRow {
  project: string;
  document: string;
  jobId: string;
  seq: number;
  mode: 'add' | 'replace';
  annotations: object;
}

let pool: pg.Pool | undefined;
let prepared: Promise<unknown> | undefined;

/** Creates the tables once per process. The lock is for processes that start at the same time. */
export async function openStore(): Promise<pg.Pool> {
  pool ??= new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 4 });
  prepared ??= pool.query(`
    begin;
    select pg_advisory_xact_lock(20003);
    create table if not exists annotated_documents (document text primary key, text text not null);
    create table if not exists current_annotations (
      project text, document text, job_id text, seq bigint, annotations jsonb not null,
      primary key (project, document, job_id, seq));
    commit`);
  await prepared;
  return pool;
}

export async function closeStore(): Promise<void> {
  const open = pool;
  pool = undefined;
  prepared = undefined;
  await open?.end();
}

/** Returns the text of a document: the first one that was uploaded. */
export async function textOf(document: string, text: string): Promise<string> {
  const { rows } = await (await openStore()).query<{ text: string }>(
    `insert into annotated_documents as stored values ($1, $2)
     on conflict (document) do update set text = stored.text returning text`,
    [document, text],
  );
  return rows[0]!.text;
}

/** Deletes the old annotations and stores the new ones in one statement, so either both happen or neither. */
export async function storeAnnotations(row: StoredRow): Promise<void> {
  const { project, document, jobId, seq, mode, annotations } = row;
  await (await openStore()).query(
    `with replaced as (
       delete from current_annotations
       where $5 = 'replace' and project = $1 and document = $2 and (job_id, seq) <> ($3, $4::bigint))
     insert into current_annotations values ($1, $2, $3, $4::bigint, $6)
     on conflict (project, document, job_id, seq) do update set annotations = excluded.annotations`,
    [project, document, jobId, seq, mode, JSON.stringify(annotations)],
  );
}

// Detects a pooler such as PgBouncer between client and server: the backend that answers then differs from the one
// announced at startup. Behind a pooler, session state (prepared statements, LISTEN, SET) is unreliable.
import type pg from 'pg';

export async function isThroughPooler(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]!.pid !== (client as unknown as { processID: number | null }).processID;
}

// Whether a pooler is between a client and the server, as PgBouncer: the process that the client was told at the start is
// then not the one that answers. What belongs to a session (named statements, LISTEN, SET) is not to be relied on there.
import type pg from 'pg';

export async function isThroughPooler(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]!.pid !== (client as unknown as { processID: number | null }).processID;
}

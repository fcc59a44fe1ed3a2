// Renews leases of one job on a dedicated connection.
import type { ClientBase } from 'pg';
import { RENEW_LEASES } from '../../store/commands/spans/renew-leases.ts';

/** Returns the spans whose lease was renewed; the others are lost. */
export async function renewLeases(
  client: ClientBase,
  jobId: string,
  leases: readonly { spanId: number; token: string }[],
  leaseMs: number,
): Promise<Set<number>> {
  const { rows } = await client.query<{ span_id: string }>({
    text: RENEW_LEASES.text,
    values: [jobId, leases.map(({ spanId }) => spanId), leases.map(({ token }) => token), leaseMs],
  });
  return new Set(rows.map((row) => Number(row.span_id)));
}

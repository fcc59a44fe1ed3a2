import type { Statement } from '../../platform/database.ts';

// Sent by the lease keeper on its own connection. A lease that expired but was not taken yet is still good:
// only the token decides. What is missing from the answer is lost.
export const RENEW_LEASES: Statement = {
  name: 'renew-leases',
  text: `
    update spans s
    set expires_at = now() + $4::float8 * interval '1 millisecond'
    from unnest($2::bigint[], $3::uuid[]) as held(span_id, token)
    where s.job_id = $1 and s.span_id = held.span_id and s.token = held.token
    returning s.span_id`,
};

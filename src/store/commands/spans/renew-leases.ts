import type { Statement } from '../../../platform/database.ts';
import { SPAN_LEASE } from '../../lease.ts';

// Sent by the lease keeper on its own connection. An expired lease that has not been taken over is still valid: only
// the token decides. A lease that is not returned is lost. Rows are locked in span order, as flushes do.
export const RENEW_LEASES: Statement = {
  name: 'renew-leases',
  text: `
    with held as materialized (
      select s.span_id
      from unnest($2::bigint[], $3::uuid[]) as h(span_id, token)
      join spans s on s.job_id = $1 and s.span_id = any($2::bigint[]) and s.span_id = h.span_id
      where s.token = h.token
      order by s.span_id
      for update of s
    )
    update spans s
    set ${SPAN_LEASE.renew('$4')}
    where s.job_id = $1 and s.span_id = any(array(select span_id from held))
    returning s.span_id`,
};

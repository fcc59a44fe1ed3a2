import type { Executor, Statement } from '../../../platform/database.ts';

// The audit log, newest first, after the entry $3. One statement per filter, so that each has its own plan. Request
// id and address are read by name, because older rows do not have them.
const pageOf = (name: string, filter: string): Statement => ({
  name,
  text: `
    select a.audit_id as "auditId", a.at, a.actor, a.action, a.subject, a.detail,
      to_jsonb(a) ->> 'request_id' as "requestId", to_jsonb(a) ->> 'address' as address
    from audit a
    where ($1::text is null or a.subject = $1) and ($2::text is null or a.actor = $2) and ${filter}
      and a.audit_id < coalesce($3::bigint, 9223372036854775807)
    order by a.audit_id desc
    limit $4`,
});
/** Index: audit_pkey backwards. */
const AUDIT_PAGE = pageOf('audit-page', 'true');
/** Index: audit_by_subject. */
const AUDIT_PAGE_OF_SUBJECT = pageOf('audit-page-of-subject', 'a.subject = $1');
/** Index: audit_by_actor. */
const AUDIT_PAGE_OF_ACTOR = pageOf('audit-page-of-actor', 'a.actor = $2');

export interface AuditRow {
  auditId: number;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  detail: unknown;
  requestId: string | null;
  address: string | null;
}

export async function auditPage(
  db: Executor,
  request: { subject: string | null; actor: string | null; beforeId: number | null; limit: number },
): Promise<AuditRow[]> {
  const { subject, actor, beforeId, limit } = request;
  const statement =
    subject !== null ? AUDIT_PAGE_OF_SUBJECT : actor !== null ? AUDIT_PAGE_OF_ACTOR : AUDIT_PAGE;
  const { rows } = await db.run<AuditRow & Record<string, unknown>>(statement, [
    subject,
    actor,
    beforeId,
    limit,
  ]);
  return rows;
}

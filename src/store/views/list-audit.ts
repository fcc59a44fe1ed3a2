import type { Executor, Statement } from '../../platform/database.ts';
import type { AuditEntry } from '../commands/insert-audit.ts';

const COLUMNS = 'audit_id, at, actor, action, subject, detail, request_id, address';

// Newest first, from before $2. Index: audit_pkey backwards.
const LIST_AUDIT: Statement = {
  name: 'list-audit',
  text: `
    select ${COLUMNS} from audit
    where audit_id < coalesce($2::bigint, 9223372036854775807)
    order by audit_id desc limit $1`,
};
// People type the name alone as well as what kind of thing it is. Index: audit_by_subject, once per kind.
const SUBJECTS = `($3, 'resource ' || $3, 'owner ' || $3, 'job ' || $3, 'user ' || $3, 'team ' || $3, 'key ' || $3)`;
const LIST_AUDIT_OF: Statement = {
  name: 'list-audit-of',
  text: `
    select ${COLUMNS} from audit
    where subject in ${SUBJECTS} and audit_id < coalesce($2::bigint, 9223372036854775807)
    order by audit_id desc limit $1`,
};
// What somebody did, also with one of their keys. Index: audit_by_actor, whose order is the one of plain text only in the C
// collation; so the keys are named by their rows.
const LIST_AUDIT_BY: Statement = {
  name: 'list-audit-by',
  text: `
    select ${COLUMNS} from audit
    where actor = any (array[$3::text] || array(select $3 || ' with key ' || key_id from api_keys where user_id = $3))
      and ($4::text is null or subject in ${SUBJECTS.replaceAll('$3', '$4')})
      and audit_id < coalesce($2::bigint, 9223372036854775807)
    order by audit_id desc limit $1`,
};

interface AuditRow {
  audit_id: number;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  detail: unknown;
  request_id: string | null;
  address: string | null;
}

export interface ListedAudit extends Required<AuditEntry> {
  auditId: number;
  at: Date;
}

export interface AuditQuestion {
  subject?: string | null;
  /** Somebody, with or without a key. */
  actor?: string | null;
  /** Entries older than this one. */
  before?: number | null;
}

/** The newest entries, of one subject or of all. */
export async function listAudit(db: Executor, subject: string | null, limit: number): Promise<ListedAudit[]> {
  return listAuditPage(db, { subject }, limit);
}

export async function listAuditPage(
  db: Executor,
  { subject = null, actor = null, before = null }: AuditQuestion,
  limit: number,
): Promise<ListedAudit[]> {
  const { rows } =
    actor !== null
      ? await db.run<AuditRow>(LIST_AUDIT_BY, [limit, before, actor, subject])
      : subject !== null
        ? await db.run<AuditRow>(LIST_AUDIT_OF, [limit, before, subject])
        : await db.run<AuditRow>(LIST_AUDIT, [limit, before]);
  return rows.map(({ audit_id, request_id, ...row }) => ({
    ...row,
    auditId: audit_id,
    requestId: request_id,
  }));
}

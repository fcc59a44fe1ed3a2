import type { Executor, Statement } from '../../../platform/database.ts';
import type { AuditEntry } from '../../commands/jobs/insert-audit.ts';

const COLUMNS = 'at, actor, action, subject, detail, request_id as "requestId", address';

// Newest first. Index: audit_by_subject, or audit_pkey backwards.
const LIST_AUDIT: Statement = {
  name: 'list-audit',
  text: `select ${COLUMNS} from audit order by audit_id desc limit $1`,
};
// Users type the name with or without the kind of subject.
const LIST_AUDIT_OF: Statement = {
  name: 'list-audit-of',
  text: `
    select ${COLUMNS} from audit
    where subject in ($2, 'resource ' || $2, 'owner ' || $2, 'job ' || $2, 'user ' || $2, 'team ' || $2, 'key ' || $2)
    order by audit_id desc limit $1`,
};

export interface ListedAudit extends Required<AuditEntry> {
  at: Date;
}

export async function listAudit(db: Executor, subject: string | null, limit: number): Promise<ListedAudit[]> {
  const [statement, values] = subject === null ? [LIST_AUDIT, [limit]] : [LIST_AUDIT_OF, [limit, subject]];
  return (await db.run<ListedAudit & Record<string, unknown>>(statement, values)).rows;
}

import type { Executor, Statement } from '../../../platform/database.ts';

const INSERT_AUDIT: Statement = {
  name: 'insert-audit',
  text: `
    insert into audit (actor, action, subject, detail, request_id, address) values ($1, $2, $3, $4, $5, $6)`,
};

export interface AuditEntry {
  /** An owner, an API key, or the account that ran a command. */
  actor: string;
  action: string;
  subject: string;
  detail: unknown;
  /** Id of the request, and the address it came from. */
  requestId?: string | null;
  address?: string | null;
}

export async function insertAudit(db: Executor, entry: AuditEntry): Promise<void> {
  const { actor, action, subject, detail, requestId = null, address = null } = entry;
  await db.run(INSERT_AUDIT, [actor, action, subject, JSON.stringify(detail), requestId, address]);
}

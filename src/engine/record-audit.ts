// Writes into the audit who did what: in the transaction of the change, or alone before data leaves.
import type { Executor } from '../platform/database.ts';
import { insertAudit } from '../store/commands/jobs/insert-audit.ts';
import type { EngineContext } from './engine-context.ts';

/** The actor where things are changed without the server. */
const LIBRARY = 'library';

export interface AuditRecord {
  action: string;
  subject: string;
  detail?: object;
  /** In place of the caller: for sign-ins, and for commands that name the account they run under. */
  actor?: string;
}

export async function recordAudit(
  db: Executor,
  { by }: Pick<EngineContext, 'by'>,
  { action, subject, detail = {}, actor = by?.actor ?? LIBRARY }: AuditRecord,
): Promise<void> {
  await insertAudit(db, { ...by, actor, action, subject, detail });
}

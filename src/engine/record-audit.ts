// Writes an audit entry: in the transaction of the change, or on its own before data is exported.
import type { Executor } from '../platform/database.ts';
import { insertAudit } from '../store/commands/jobs/insert-audit.ts';
import type { EngineContext } from './engine-context.ts';

/** The actor of changes that do not go through the server. */
const LIBRARY = 'library';

export interface AuditRecord {
  action: string;
  subject: string;
  detail?: object;
  /** Replaces the caller, for sign-ins and for commands that name the account they run under. */
  actor?: string;
}

export async function recordAudit(
  db: Executor,
  { by }: Pick<EngineContext, 'by'>,
  { action, subject, detail = {}, actor = by?.actor ?? LIBRARY }: AuditRecord,
): Promise<void> {
  await insertAudit(db, { ...by, actor, action, subject, detail });
}

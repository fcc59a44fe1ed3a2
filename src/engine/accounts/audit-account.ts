// Writes what happened to an account into the audit, in the transaction of the change.
import type { Executor } from '../../platform/database.ts';
import { insertAudit } from '../../store/commands/jobs/insert-audit.ts';
import type { EngineContext } from '../engine-context.ts';

export interface AccountEvent {
  action: string;
  subject: string;
  detail?: unknown;
  /** Where it is not the caller: somebody who was nobody before. */
  actor?: string;
}

export async function auditAccount(tx: Executor, { by }: EngineContext, event: AccountEvent): Promise<void> {
  await insertAudit(tx, {
    actor: event.actor ?? by?.actor ?? 'library',
    action: event.action,
    subject: event.subject,
    detail: event.detail ?? {},
    requestId: by?.requestId ?? null,
    address: by?.address ?? null,
  });
}

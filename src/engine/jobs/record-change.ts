// Records a change of a job in the transaction of the change: the event for streams and webhooks, and the audit entry
// with the actor. Called only if the change took place.
import type { Transaction } from '../../platform/database.ts';
import { insertJobEvent } from '../../store/commands/events/insert-job-event.ts';
import { numberJobEvents } from '../../store/commands/events/number-job-events.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export interface Change {
  jobId: string;
  /** Kind of the event (contract/events.ts); no event is sent without it. */
  kind?: string;
  /** Action for the audit log; left out if no user caused the change. */
  action?: string;
  detail?: Record<string, unknown>;
}

export async function recordChange(
  tx: Transaction,
  context: Pick<EngineContext, 'by'>,
  { jobId, kind, action, detail = {} }: Change,
): Promise<void> {
  if (kind !== undefined) await insertJobEvent(tx, [jobId], kind, detail);
  if (action !== undefined) await recordAudit(tx, context, { action, subject: `job ${jobId}`, detail });
}

/** Gives job events the positions in which they are read; every reader calls it first. Returns how many got one. */
export async function numberEvents({ db }: EngineContext): Promise<number> {
  return numberJobEvents(db);
}

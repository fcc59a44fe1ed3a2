// Writes down what happened to a job, in the transaction of the change: the event that streams and webhooks tell, and
// the audit row that says who did it. Called only where the change took place.
import type { Transaction } from '../../platform/database.ts';
import { insertJobEvent } from '../../store/commands/events/insert-job-event.ts';
import { numberJobEvents } from '../../store/commands/events/number-job-events.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export interface Change {
  jobId: string;
  /** Kind of the event (contract/events.ts); none: nobody is told. */
  kind?: string;
  /** For the audit; none: it happened by itself. */
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

/** Gives events of jobs the positions in which they are read; every reader calls it first. Returns how many got one. */
export async function numberEvents({ db }: EngineContext): Promise<number> {
  return numberJobEvents(db);
}

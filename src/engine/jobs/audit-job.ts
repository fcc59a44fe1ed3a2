// The entry in the audit for what somebody did with a job and nobody else is told: in the transaction of the change, or alone
// before data leaves.
import type { Executor } from '../../platform/database.ts';
import { insertAudit } from '../../store/commands/jobs/insert-audit.ts';
import type { EngineContext } from '../engine-context.ts';

export type JobAction =
  | 'job.items_append'
  | 'job.kickoff'
  | 'job.export'
  | 'job.export_prepare'
  | 'job.file_download';

export async function auditJob(
  db: Executor,
  { by }: Pick<EngineContext, 'by'>,
  jobId: string,
  action: JobAction,
  detail: object,
): Promise<void> {
  await insertAudit(db, { actor: 'library', ...by, action, subject: `job ${jobId}`, detail });
}

// Who took data out. Reading changes nothing, so the entry stands alone; it is written before the first byte leaves.
import { retryPassing } from '../platform/retry-passing.ts';
import { insertAudit } from '../store/commands/insert-audit.ts';
import type { EngineContext } from './engine-context.ts';

export async function recordAccess(
  context: EngineContext,
  action: 'job.exported' | 'file.downloaded',
  jobId: string,
  detail: object,
): Promise<void> {
  const actor = context.by?.actor ?? 'library';
  await retryPassing(() => insertAudit(context.db, { actor, action, subject: `job ${jobId}`, detail }));
}

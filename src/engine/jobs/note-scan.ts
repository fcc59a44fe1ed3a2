// That somebody had the sources of files scanned stands in the audit, whatever the scan finds.
import { retryPassing } from '../../platform/retry-passing.ts';
import { insertAudit } from '../../store/commands/jobs/insert-audit.ts';
import type { EngineContext } from '../engine-context.ts';

export async function noteScan({ db, by }: EngineContext, sources: readonly string[]): Promise<void> {
  await retryPassing(() =>
    insertAudit(db, {
      actor: 'library',
      ...by,
      action: 'sources.scan',
      subject: 'sources',
      detail: { sources },
    }),
  );
}

import type { Executor, Statement } from '../../../platform/database.ts';
import type { SourceFileClaim } from './renew-source-file.ts';

const FINISH_SOURCE_FILE: Statement = {
  name: 'finish-source-file',
  text: `
    update source_files
    set state = $4, job_id = $5, reason = $6, token = null, expires_at = null, finished_at = now()
    where source = $1 and file_id = $2 and token = $3 and state = 'taken'`,
};

export type SourceFileOutcome = { state: 'done'; jobId: string } | { state: 'failed'; reason: string };

/** False when the claim was lost: then the file belongs to another poller and must be left alone. */
export async function finishSourceFile(
  db: Executor,
  claim: SourceFileClaim,
  outcome: SourceFileOutcome,
): Promise<boolean> {
  const { rowCount } = await db.run(FINISH_SOURCE_FILE, [
    claim.source,
    claim.fileId,
    claim.token,
    outcome.state,
    outcome.state === 'done' ? outcome.jobId : null,
    outcome.state === 'failed' ? outcome.reason : null,
  ]);
  return rowCount === 1;
}

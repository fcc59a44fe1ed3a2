import type { Executor, Statement } from '../../../platform/database.ts';
import type { SourceFileClaim } from './renew-source-file.ts';

// While a file is taken, `reason` has one line for each try that failed; the lines are the count.
const RELEASE_SOURCE_FILE: Statement = {
  name: 'release-source-file',
  text: `
    update source_files set token = null, expires_at = null, reason = nullif(concat_ws(E'\\n', reason, $4::text), '')
    where source = $1 and file_id = $2 and token = $3`,
};

/** Any poller may go on with the file at once. `note` is one line about a try that failed, or null. */
export async function releaseSourceFile(
  db: Executor,
  claim: SourceFileClaim,
  note: string | null,
): Promise<boolean> {
  const { rowCount } = await db.run(RELEASE_SOURCE_FILE, [claim.source, claim.fileId, claim.token, note]);
  return rowCount === 1;
}

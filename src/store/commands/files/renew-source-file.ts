import type { Executor, Statement } from '../../../platform/database.ts';

// A lease that ran out but was not taken over yet is still good: only the token decides.
const RENEW_SOURCE_FILE: Statement = {
  name: 'renew-source-file',
  text: `
    update source_files set expires_at = now() + $4::float8 * interval '1 millisecond'
    where source = $1 and file_id = $2 and token = $3`,
};

/** What every change of a claim names: the file and the token of the poller that holds it. */
export interface SourceFileClaim {
  source: string;
  fileId: string;
  token: string;
}

/** False when the claim was lost. */
export async function renewSourceFile(
  db: Executor,
  claim: SourceFileClaim,
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await db.run(RENEW_SOURCE_FILE, [claim.source, claim.fileId, claim.token, leaseMs]);
  return rowCount === 1;
}

import type { Executor, Statement } from '../../../platform/database.ts';

// A claim without a token was released in order; one whose lease ran out belonged to a poller that died, which is
// written down as a try, so that a file that kills pollers is not offered for ever.
const TAKE_OVER_SOURCE_FILE: Statement = {
  name: 'take-over-source-file',
  text: `
    update source_files
    set token = $3, expires_at = now() + $4::float8 * interval '1 millisecond',
        reason = case when token is null then reason else concat_ws(E'\\n', reason, $5::text) end
    where source = $1 and file_id = $2 and state = 'taken' and (expires_at is null or expires_at <= now())
    returning reason`,
};

export interface TakeOverRequest {
  source: string;
  fileId: string;
  token: string;
  leaseMs: number;
  /** One line: what is noted about a claim whose lease ran out. */
  crashNote: string;
}

/** The tries so far, one line each; null when the claim is held by another poller or was finished. */
export async function takeOverSourceFile(
  db: Executor,
  request: TakeOverRequest,
): Promise<{ reason: string | null } | null> {
  const { rows } = await db.run<{ reason: string | null }>(TAKE_OVER_SOURCE_FILE, [
    request.source,
    request.fileId,
    request.token,
    request.leaseMs,
    request.crashNote,
  ]);
  return rows[0] ?? null;
}

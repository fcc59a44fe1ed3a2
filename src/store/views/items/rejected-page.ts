import type { Executor, Statement } from '../../../platform/database.ts';

// Rejected rows of the file, in the order of the file.
const REJECTED_PAGE: Statement = {
  name: 'rejected-page',
  text: `
    select ordinal, line, reason, raw from rejected_rows
    where job_id = $1 and ordinal > $2
    order by ordinal
    limit $3`,
};

export interface RejectedRowView {
  ordinal: number;
  line: number;
  reason: string;
  raw: string;
}

export async function rejectedPage(
  db: Executor,
  jobId: string,
  afterOrdinal: number,
  limit: number,
): Promise<RejectedRowView[]> {
  const rows = await db.runArrays(REJECTED_PAGE, [jobId, afterOrdinal, limit]);
  return rows.map((row) => ({
    ordinal: row[0] as number,
    line: row[1] as number,
    reason: row[2] as string,
    raw: row[3] as string,
  }));
}

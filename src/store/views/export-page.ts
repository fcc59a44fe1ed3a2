import type { ItemStatus } from '../../core/outcome.ts';
import type { Executor, Statement } from '../../platform/database.ts';

// One page of an export: items in key order with the newest result of a fixed generation. Keyset paging, so no
// transaction stays open for a slow reader.
const EXPORT_PAGE: Statement = {
  name: 'export-page',
  text: `
    select i.seq, i.input::text, r.status, r.result::text, r.error_class, r.error, r.attempt, r.finished_at
    from items i
    left join results r on r.job_id = $1 and r.seq = i.seq and r.generation = $2
    where i.job_id = $1 and i.seq > $3
    order by i.seq
    limit $4`,
};

export interface ExportRow {
  seq: number;
  input: Record<string, unknown>;
  status: ItemStatus | 'PENDING';
  result: unknown;
  errorClass: string | null;
  error: string | null;
  attempt: number | null;
  finishedAt: Date | null;
}

export async function* exportRows(
  db: Executor,
  jobId: string,
  generation: number,
  pageSize = 1000,
): AsyncGenerator<ExportRow> {
  let after = -1;
  for (;;) {
    const rows = await db.runArrays(EXPORT_PAGE, [jobId, generation, after, pageSize]);
    for (const row of rows) {
      yield {
        seq: row[0] as number,
        input: JSON.parse(row[1] as string) as Record<string, unknown>,
        status: (row[2] as ItemStatus | null) ?? 'PENDING',
        result: row[3] === null ? null : JSON.parse(row[3] as string),
        errorClass: row[4] as string | null,
        error: row[5] as string | null,
        attempt: row[6] as number | null,
        finishedAt: row[7] as Date | null,
      };
    }
    if (rows.length < pageSize) return;
    after = rows.at(-1)![0] as number;
  }
}

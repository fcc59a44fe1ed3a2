import type { LineRuns } from '../../../core/files/line-runs.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

const INSERT_LINE_RUNS: Statement = {
  name: 'insert-line-runs',
  text: 'insert into line_runs (job_id, first_seq, item_count, places, lines) values ($1, $2, $3, $4, $5)',
};

export async function insertLineRuns(
  db: Executor,
  jobId: string,
  firstSeq: number,
  itemCount: number,
  { places, lines }: LineRuns,
): Promise<void> {
  await db.run(INSERT_LINE_RUNS, [jobId, firstSeq, itemCount, places, lines]);
}

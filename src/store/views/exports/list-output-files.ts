import type { OutputFile } from '../../../core/files/output-format.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Output files of the newest jobs, newest first.
const LIST_OUTPUT_FILES: Statement = {
  name: 'list-output-files',
  text: `
    select s.job_id, f.file
    from (
      select job_id, created_at from jobs where $1::uuid is null or job_id = $1 order by created_at desc limit $2
    ) j
    join summaries s using (job_id)
    cross join lateral jsonb_array_elements(s.files) as f(file)
    order by j.created_at desc, s.generation desc`,
};

export async function listOutputFiles(
  db: Executor,
  scope: { jobId: string | null; maxJobs: number },
): Promise<{ jobId: string; file: OutputFile }[]> {
  const rows = await db.runArrays(LIST_OUTPUT_FILES, [scope.jobId, scope.maxJobs]);
  return rows.map((row) => ({ jobId: row[0] as string, file: row[1] as OutputFile }));
}

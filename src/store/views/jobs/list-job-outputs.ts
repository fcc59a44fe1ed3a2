import type { OutputFile } from '../../../core/files/output-format.ts';
import type { Executor, Statement } from '../../../platform/database.ts';

// Index: primary key of summaries.
const LIST_JOB_OUTPUTS: Statement = {
  name: 'list-job-outputs',
  text: 'select generation, created_at, files from summaries where job_id = $1 order by generation',
};

export interface GenerationOutputs {
  generation: number;
  createdAt: Date;
  files: OutputFile[];
}

/** Output files of each finished generation. */
export async function listJobOutputs(db: Executor, jobId: string): Promise<GenerationOutputs[]> {
  return (await db.runArrays(LIST_JOB_OUTPUTS, [jobId])).map((row) => ({
    generation: row[0] as number,
    createdAt: row[1] as Date,
    files: row[2] as OutputFile[],
  }));
}

// The job that a file corrects: rows of the file take over its results by their keys.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { isFinished } from '../core/jobs/job-state.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { readJob } from '../store/views/jobs/read-job.ts';

/** Throws unless the job is finished, of the same pipeline, and has the same key. */
export async function checkUpdatedJob(
  context: EngineContext,
  jobId: string,
  pipeline: string,
  key: readonly string[],
): Promise<void> {
  const job = await readJob(context.db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  if (job.pipeline !== pipeline) {
    throw new RowmillError(
      'JOB_CONFLICT',
      `job ${jobId} belongs to pipeline ${job.pipeline}, not ${pipeline}`,
      { hint: 'Submit the corrected file to the pipeline of the original job.' },
    );
  }
  if (key.length === 0 || job.keyColumns.join('\0') !== key.join('\0')) {
    throw new RowmillError(
      'JOB_CONFLICT',
      `expected job ${jobId} and the corrected file to have the same key, got ${printKey(job.keyColumns)} and ${printKey(key)}`,
      { hint: 'Name the columns that identify a row: `key` in the pipeline, or --key, for both files.' },
    );
  }
  if (!isFinished(job.state)) {
    throw new RowmillError('JOB_CONFLICT', `expected job ${jobId} to be finished, it is ${job.state}`, {
      hint: 'Wait until it has finished: the corrected file takes over its results.',
    });
  }
}

function printKey(key: readonly string[]): string {
  return key.length === 0 ? 'none' : key.join(' + ');
}

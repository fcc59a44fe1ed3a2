// Waits until a job is finished, long enough for a busy machine, and reports the state of the job if it does not
// finish.
import { contextOf, type Rowmill } from '../../src/open-rowmill.ts';

/**
 * Less than the timeout of a test, so that the test fails with this message. TEST_PATIENCE_MS shortens it where jobs
 * are expected to hang (test/proof).
 */
const PATIENCE_MS = Number(process.env.TEST_PATIENCE_MS ?? 50_000);

export async function whenFinished(rowmill: Rowmill, jobId: string): ReturnType<Rowmill['whenFinished']> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  try {
    return await rowmill.whenFinished(jobId, patience);
  } catch (error) {
    if (!patience.aborted) throw error;
    throw new Error(
      `job ${jobId} did not finish within ${PATIENCE_MS} ms: ${await standing(rowmill, jobId)}`,
      {
        cause: error,
      },
    );
  }
}

async function standing(rowmill: Rowmill, jobId: string): Promise<string> {
  const job = await rowmill.job(jobId);
  const progress = await rowmill.progress(jobId);
  const { rows } = await contextOf(rowmill).db.run(
    {
      name: 'standing-of-a-job',
      text: `select span_id::int, phase, items::text, worker_id, attempt, crashes, ready_at, expires_at, clock_timestamp() as now
           from spans where job_id = $1 order by span_id limit 20`,
    },
    [jobId],
  );
  return JSON.stringify({ job, progress, spans: rows }, null, 2);
}

// A killed process leaves its lease on a file behind for a few seconds, and two processes may submit the same file at
// the same time. This waits until the file is free or the other process has finished, and while the database is
// unreachable.

import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { waitMs } from '../platform/clock.ts';
import { databaseErrorKind } from '../platform/database-error.ts';
import { ingestJob } from './ingest-job.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

const LOOK_MS = 500;

/** True if the job is sealed, by this process or another; false if the signal stopped the wait. */
export async function ingestWhenFree(
  context: EngineContext,
  jobId: string,
  pipeline: Pipeline,
  options: { signal?: AbortSignal | undefined; onWait?: (message: string) => void } = {},
): Promise<boolean> {
  const { signal } = options;
  let told = false;
  while (!signal?.aborted) {
    try {
      return await ingestJob(context, jobId, pipeline, signal);
    } catch (error) {
      const isTaken = error instanceof RowmillError && error.code === 'JOB_CONFLICT';
      if (!isTaken && databaseErrorKind(error) !== 'passing') throw error;
      if (!told) options.onWait?.((error as Error).message);
      told = true;
      await waitMs(LOOK_MS, signal);
    }
  }
  return false;
}

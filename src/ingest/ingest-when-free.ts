// A process that was killed leaves its lease on a file behind for a few seconds, and two may come with the same file at
// once: this waits for its turn, or for the other to be done. It also waits for a database that is away.

import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { waitMs } from '../platform/clock.ts';
import { databaseErrorKind } from '../platform/database-error.ts';
import { ingestJob } from './ingest-job.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

const LOOK_MS = 500;

/** True when the job is sealed, by whomever; false when the signal stopped it. */
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

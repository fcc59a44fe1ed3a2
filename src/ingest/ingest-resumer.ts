// Resumes files whose reader died: the blob store has the file, the job has the checkpoint, and any process that
// knows the pipeline can continue.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { PeriodicService } from '../platform/periodic-service.ts';
import { findAbandonedIngests } from '../store/views/jobs/find-abandoned-ingests.ts';
import { ingestJob } from './ingest-job.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';

/** The sweep wakes the resumer when a file is abandoned, so its own interval hardly matters. */
const RESUME_MS = 10 * 60_000;

export async function resumeIngests(
  context: EngineContext,
  pipelines: readonly Pipeline[],
  signal?: AbortSignal,
): Promise<number> {
  const names = pipelines.map((pipeline) => pipeline.name);
  const abandoned = await findAbandonedIngests(context.db, names, context.settings.ingestLeaseMs);
  let sealed = 0;
  let unforeseen: unknown = null;
  for (const { jobId, pipeline } of abandoned) {
    if (signal?.aborted) break;
    try {
      const known = pipelines.find((each) => each.name === pipeline)!;
      if (await ingestJob(context, jobId, known, signal)) sealed += 1;
    } catch (error) {
      // Another process took the job, or the file cannot be read; the job records which. The other jobs still get
      // their turn.
      if (!(error instanceof RowmillError)) unforeseen ??= error;
    }
  }
  if (unforeseen !== null) throw unforeseen;
  return sealed;
}

/** `pipelines` returns the current ones, because `rowmill dev` replaces them. */
export function createIngestResumer(
  context: EngineContext,
  pipelines: () => readonly Pipeline[],
  signal: AbortSignal,
): PeriodicService {
  return new PeriodicService({
    name: 'ingest resumer',
    intervalMs: RESUME_MS,
    events: context.events,
    work: () => resumeIngests(context, pipelines(), signal),
  });
}

// Reads the file of a new job into rows, after the request was answered. If this process dies, any process that knows
// the pipeline resumes it (ingest/ingest-resumer.ts).
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { ingestWhenFree } from '../../ingest/ingest-when-free.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { ApiContext } from '../api-context.ts';

export function startIngest(context: ApiContext, jobId: string, pipeline: Pipeline): void {
  const { background, engine, notifier } = context;
  background.start('ingest', async (signal) => {
    const off = engine.events.on('items.added', (added) => added.jobId === jobId && void notifier.hint());
    try {
      await ingestWhenFree(engine, jobId, pipeline, { signal });
    } catch (error) {
      // An unreadable file has already failed its job with the reason, and a finished job needs no ingest.
      if (!(error instanceof RowmillError) || error.status >= 500) throw error;
    } finally {
      off();
      await notifier.hint();
    }
  });
}

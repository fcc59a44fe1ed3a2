// Reads the file of a new job into its rows, after the request was answered. When this process dies, any process that
// knows the pipeline goes on (ingest/ingest-resumer.ts).
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
      // A file that cannot be read has ended its job, which says why; one that is finished needs nobody.
      if (!(error instanceof RowmillError) || error.status >= 500) throw error;
    } finally {
      off();
      await notifier.hint();
    }
  });
}

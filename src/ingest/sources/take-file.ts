// Ingests a file of a watched source like any other file: it is stored, its format detected, a job created, and its
// rows read. The same content is the same job, so it does not matter how often a file is taken after crashes.
import type { EngineContext } from '../../engine/engine-context.ts';
import { ingestWhenFree } from '../ingest-when-free.ts';
import { submitFile } from '../submit-file.ts';
import type { TakeFile } from './scan-source.ts';
import type { SourceConfig } from './source-config.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';

export function createTakeFile(context: EngineContext, pipeline: Pipeline, config: SourceConfig): TakeFile {
  return async ({ name, source, expectedBytes, open, signal }) => {
    const file = {
      name,
      kind: source.kind,
      source: source.name,
      path: source.path,
      bytes: await open(),
      expectedBytes,
    };
    const { jobId } = await submitFile(context, pipeline, file, {
      signal,
      ...(config.owner !== undefined && { ownerId: config.owner }),
      ...(config.params !== undefined && { params: config.params }),
      ...(config.format !== undefined && { format: config.format }),
      ...(config.mapping !== undefined && { mapping: config.mapping }),
    });
    await ingestWhenFree(context, jobId, pipeline, { signal });
    signal.throwIfAborted();
    return { jobId };
  };
}

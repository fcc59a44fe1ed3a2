// The pipeline that a request names, among those that this server knows.
import { RowmillError } from '../core/rowmill-error.ts';
import type { Pipeline } from '../worker/define-pipeline.ts';

/** Of several versions the last one that was given. */
export function findPipeline(pipelines: readonly Pipeline[], name: string): Pipeline {
  const found = pipelines.findLast((pipeline) => pipeline.name === name);
  if (found) return found;
  const known = pipelines.map((pipeline) => pipeline.name).join(', ') || 'none';
  throw new RowmillError('PIPELINE_NOT_FOUND', `there is no pipeline ${name}; this server has ${known}`, {
    hint: 'GET /api/pipelines lists them.',
  });
}

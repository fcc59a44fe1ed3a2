// The pipeline that a request names, among those that this server knows; the only one where the request names none.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';

/** Of several versions the last one that was given. */
export function findPipeline(pipelines: readonly Pipeline[], name: string | undefined): Pipeline {
  const names = [...new Set(pipelines.map((pipeline) => pipeline.name))];
  const known = names.join(', ') || 'none';
  if (name === undefined && names.length !== 1)
    throw new RowmillError('REQUEST_INVALID', `expected the name of a pipeline; this server has ${known}`, {
      hint: 'Name it: {"pipeline": "…"} in the body, or in the field job before the part file. Only a server with one pipeline takes it for granted.',
    });
  const found = pipelines.findLast((pipeline) => pipeline.name === (name ?? names[0]));
  if (found) return found;
  throw new RowmillError('PIPELINE_NOT_FOUND', `there is no pipeline ${name}; this server has ${known}`, {
    hint: 'GET /api/pipelines lists them.',
  });
}

// Finds the pipeline a request names among those of this server. A request may omit the name if there is only one.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';

/** If there are several versions, the last one given wins. */
export function findPipeline(pipelines: readonly Pipeline[], name: string | undefined): Pipeline {
  const names = [...new Set(pipelines.map((pipeline) => pipeline.name))];
  const known = names.join(', ') || 'none';
  if (name === undefined && names.length !== 1)
    throw new RowmillError('REQUEST_INVALID', `expected the name of a pipeline; this server has ${known}`, {
      hint: 'Name it: {"pipeline": "…"} in the body, or in the field job before the part file. The name is optional only on a server with one pipeline.',
    });
  const found = pipelines.findLast((pipeline) => pipeline.name === (name ?? names[0]));
  if (found) return found;
  throw new RowmillError('PIPELINE_NOT_FOUND', `there is no pipeline ${name}; this server has ${known}`, {
    hint: 'GET /api/pipelines lists them.',
  });
}

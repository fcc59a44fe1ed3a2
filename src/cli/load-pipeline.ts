// Resolves references such as `./prices.ts#price-lookup`, which name one pipeline of a module.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { loadPipelines } from '../pipeline/load-pipelines.ts';

export function modulePathOf(reference: string): string {
  return splitReference(reference)[0];
}

export async function choosePipeline(reference: string): Promise<Pipeline> {
  const [path, name] = splitReference(reference);
  const pipelines = await loadPipelines([path]);
  const found = name === null ? pipelines : pipelines.filter((pipeline) => pipeline.name === name);
  if (found.length === 1) return found[0]!;
  const names = pipelines.map((pipeline) => pipeline.name).join(', ');
  throw new RowmillError(
    'PIPELINE_NOT_FOUND',
    found.length === 0
      ? `${path} has no pipeline ${name}; it has ${names}`
      : `${path} has several pipelines: ${names}`,
    { hint: `Name one of them: ${path}#${pipelines[0]!.name}` },
  );
}

function splitReference(reference: string): [path: string, name: string | null] {
  const at = reference.lastIndexOf('#');
  return at > 0 ? [reference.slice(0, at), reference.slice(at + 1)] : [reference, null];
}

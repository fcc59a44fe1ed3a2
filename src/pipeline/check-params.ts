// Checks the parameters of a job against the pipeline before the job is created. The job stores the parsed values.
import { checkInput } from './input-schema.ts';
import type { Pipeline } from './pipeline.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';

export async function checkParams({ name, params: schema }: Pipeline, params: unknown): Promise<unknown> {
  if (schema === undefined) return params ?? {};
  const checked = await checkInput(schema, params ?? {});
  if (checked.ok) return checked.input;
  throw new RowmillError('REQUEST_INVALID', `invalid params for pipeline ${name}: ${checked.message}`, {
    hint: 'See `params` in the definition of the pipeline, or GET /api/pipelines.',
  });
}

// Parameters of a job, checked by the pipeline before there is a job. The job keeps them as the schema gives them back.
import { checkInput } from './input-schema.ts';
import type { Pipeline } from './pipeline.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';

export async function checkParams({ name, params: schema }: Pipeline, params: unknown): Promise<unknown> {
  if (schema === undefined) return params ?? {};
  const checked = await checkInput(schema, params ?? {});
  if (checked.ok) return checked.input;
  throw new RowmillError(
    'REQUEST_INVALID',
    `expected other params for pipeline ${name}: ${checked.message}`,
    {
      hint: 'The pipeline says what it takes: `params` of its definition, or GET /api/pipelines.',
    },
  );
}

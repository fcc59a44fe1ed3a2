// Parameters of a job, checked by the pipeline before there is a job. The job keeps them as the schema gives them back.
import { checkInput, type InputSchema } from './input-schema.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';

export interface ParamsPipeline {
  readonly name: string;
  readonly params?: InputSchema | undefined;
}

export async function checkParams(
  { name, params: schema }: ParamsPipeline,
  params: unknown,
): Promise<unknown> {
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

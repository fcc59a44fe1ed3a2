// Refuses unknown keys of a definition: a misspelt option would be ignored silently.
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { didYouMean } from '../core/errors/did-you-mean.ts';
import { fieldsOf } from './input-schema.ts';
import type { RetryRule } from '../core/retries/retry-policy.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { IMAGE_HEADERS } from '../core/items/image-rows.ts';
import type { ManyPhase, SinglePhase } from './pipeline.ts';
import type { PipelineDefinition } from './pipeline-definition.ts';

/** The compiler keeps this list complete: a missing key does not compile. */
const keysOf = <Of>(keys: Record<keyof Of, true>): string[] => Object.keys(keys);

const PIPELINE_KEYS = keysOf<PipelineDefinition>({
  name: true,
  version: true,
  input: true,
  kinds: true,
  result: true,
  params: true,
  unstorable: true,
  key: true,
  summary: true,
  strategies: true,
  resources: true,
  counters: true,
  outputs: true,
  keepDays: true,
  costUnit: true,
  phases: true,
  onDone: true,
  onItemError: true,
  onPhaseDone: true,
});
type AnyPhase = Required<SinglePhase<0, 0, 0>> | Required<ManyPhase<0, 0, 0>>;
const PHASE_KEYS = keysOf<Record<keyof AnyPhase, unknown>>({
  name: true,
  concurrency: true,
  timeoutMs: true,
  priority: true,
  resources: true,
  cost: true,
  withOutputs: true,
  kind: true,
  retry: true,
  classify: true,
  run: true,
  thread: true,
  runMany: true,
  batch: true,
});
const RETRY_KEYS = keysOf<RetryRule>({ maxAttempts: true, baseMs: true, factor: true, capMs: true });

export function checkKeys(definition: PipelineDefinition): void {
  const pipeline = `pipeline ${definition.name}`;
  refuseUnknown(pipeline, definition, PIPELINE_KEYS);
  if (!Array.isArray(definition.phases)) return;
  for (const phase of definition.phases as Record<keyof AnyPhase, unknown>[]) {
    const where = `phase ${String(phase?.name)} of ${pipeline}`;
    refuseUnknown(where, phase, PHASE_KEYS);
    refuseUnknown(`batch of ${where}`, phase?.batch, ['maxItems', 'maxWaitMs']);
    refuseUnknown(`thread of ${where}`, phase?.thread, ['memoryMb']);
    for (const [errorClass, rule] of Object.entries((phase?.retry ?? {}) as object))
      refuseUnknown(`retry.${errorClass} of ${where}`, rule, RETRY_KEYS);
  }
}

function refuseUnknown(where: string, given: unknown, known: readonly string[]): void {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) return;
  for (const key of Object.keys(given))
    if (!known.includes(key))
      throw new RowmillError('PIPELINE_INVALID', `unknown key of ${where}: ${key}${didYouMean(key, known)}`, {
        hint: `Known keys are ${known.join(', ')}.`,
      });
}

/** Refuses fields that are not in the schema, because no row would have a value for them. */
export function checkFields(
  pipeline: string,
  what: 'key' | 'summary',
  names: readonly string[],
  schema: StandardSchemaV1 | undefined,
): void {
  if (takesMoreFields(schema)) return;
  const fields = fieldsOf(schema)?.map(({ name }) => name);
  // Rows of image jobs have additional columns.
  const known = fields && [...fields, ...IMAGE_HEADERS];
  const unknown = known && names.find((name) => !known.includes(name));
  if (unknown === undefined || !fields) return;
  throw new RowmillError(
    'PIPELINE_INVALID',
    `expected the ${what} of pipeline ${pipeline} to be names of input fields, got ${unknown}${didYouMean(unknown, fields)}`,
    { hint: `The fields of its input are ${fields.join(', ')}.` },
  );
}

/** True for schemas such as z.looseObject, which keep fields that they do not name. */
function takesMoreFields(schema: unknown): boolean {
  const { _zod, rest } = (schema ?? {}) as { _zod?: { def?: { catchall?: unknown } }; rest?: unknown };
  return _zod?.def?.catchall !== undefined || rest !== undefined;
}

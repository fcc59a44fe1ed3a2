// A pipeline as clients see it: its phases, and the JSON Schema of its rows if its schema library provides one.
import { z } from 'zod';
import type { pipeline as pipelineSchema } from '../../contract/operations.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';

type JsonSchema = z.infer<typeof pipelineSchema>['input'];

export function describePipeline(pipeline: Pipeline): z.infer<typeof pipelineSchema> {
  const { name, version, phases, key, summary, outputs, resources, keepDays } = pipeline;
  return {
    name,
    version,
    phases: phases.map((phase) => ({
      name: phase.name,
      concurrency: phase.concurrency ?? null,
      timeoutMs: phase.timeoutMs ?? null,
      priority: phase.priority ?? 0,
      resources: (phase.resources ?? []).map((use) => (typeof use === 'string' ? use : use.name)),
    })),
    input: jsonSchemaOf(pipeline.input),
    params: jsonSchemaOf((pipeline as { params?: unknown }).params),
    key: [...key],
    summary: [...summary],
    outputs: outputs ? [...outputs] : null,
    resources: Object.keys(resources),
    keepDays,
    paid: phases.some((phase) => phase.cost !== undefined),
    costUnit: pipeline.costUnit,
  };
}

/** Null if there is no schema, or its library cannot convert it to JSON Schema. */
function jsonSchemaOf(schema: unknown): JsonSchema {
  if (schema === null || typeof schema !== 'object') return null;
  try {
    const shown =
      '_zod' in schema
        ? z.toJSONSchema(schema as z.ZodType, { io: 'input', unrepresentable: 'any' })
        : (schema as StandardJsonSchema)['~standard'].jsonSchema?.input({ target: 'draft-2020-12' });
    // Copied through JSON to drop anything the library adds besides the schema.
    return shown === undefined ? null : (JSON.parse(JSON.stringify(shown)) as JsonSchema);
  } catch {
    return null;
  }
}

/** The JSON Schema interface of libraries other than zod, if they have one. */
interface StandardJsonSchema {
  '~standard': { jsonSchema?: { input(options: { target: string }): unknown } };
}

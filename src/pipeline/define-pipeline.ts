// What a developer writes: a named pipeline with an input schema and one or more phases in order.
import type { Ability } from '../core/claims/ability.ts';
import { checkDefinition, keyFields } from './check-definition.ts';
import type { InputSchema } from './input-schema.ts';
import {
  type FirstPhase,
  type InputOf,
  type NextPhase,
  type Phase,
  PIPELINE,
  type Pipeline,
  type PipelineDefinition,
  type RowOf,
  type SharedDefinition,
} from './pipeline.ts';
import { callbacksOf } from './pipeline-callbacks.ts';

export function definePipeline<A, Schema extends InputSchema | undefined = undefined>(
  definition: SharedDefinition<Schema> & { phases: [FirstPhase<Schema, A>] },
): Pipeline;
export function definePipeline<A, B, Schema extends InputSchema | undefined = undefined>(
  definition: SharedDefinition<Schema> & { phases: [FirstPhase<Schema, A>, NextPhase<Schema, A, B>] },
): Pipeline;
export function definePipeline<A, B, C, Schema extends InputSchema | undefined = undefined>(
  definition: SharedDefinition<Schema> & {
    phases: [FirstPhase<Schema, A>, NextPhase<Schema, A, B>, NextPhase<Schema, B, C>];
  },
): Pipeline;
export function definePipeline<A, B, C, D, Schema extends InputSchema | undefined = undefined>(
  definition: SharedDefinition<Schema> & {
    phases: [
      FirstPhase<Schema, A>,
      NextPhase<Schema, A, B>,
      NextPhase<Schema, B, C>,
      NextPhase<Schema, C, D>,
    ];
  },
): Pipeline;
export function definePipeline<A, B, C, D, E, Schema extends InputSchema | undefined = undefined>(
  definition: SharedDefinition<Schema> & {
    phases: [
      FirstPhase<Schema, A>,
      NextPhase<Schema, A, B>,
      NextPhase<Schema, B, C>,
      NextPhase<Schema, C, D>,
      NextPhase<Schema, D, E>,
    ];
  },
): Pipeline;
export function definePipeline<Schema extends InputSchema | undefined = undefined>(
  definition: SharedDefinition<Schema> & {
    phases: Phase<InputOf<Schema>, unknown, unknown, RowOf<Schema>>[];
  },
): Pipeline;
export function definePipeline(definition: PipelineDefinition): Pipeline {
  checkDefinition(definition);
  const { name, input, params, outputs, phases } = definition;
  return Object.freeze({
    [PIPELINE]: true as const,
    name,
    version: definition.version ?? null,
    input,
    params,
    unstorable: definition.unstorable ?? 'fail',
    key: keyFields(definition),
    summary: definition.summary ?? [],
    strategies: definition.strategies ?? [],
    resources: definition.resources ?? {},
    counters: definition.counters ?? [],
    outputs,
    phases: phases as Phase[],
    callbacks: callbacksOf(definition),
  });
}

/** What a worker that has this definition can run. */
export function abilityOf({ name, version, phases }: Pipeline): Ability {
  return { pipeline: name, version, phases: phases.map((phase) => phase.name) };
}

export function isPipeline(value: unknown): value is Pipeline {
  return (
    typeof value === 'object' && value !== null && (value as { [PIPELINE]?: unknown })[PIPELINE] === true
  );
}

// Turns a definition into a checked pipeline.
import type { Ability } from '../core/claims/ability.ts';
import type { StoredValue } from '../core/items/stored-value.ts';
import { checkDefinition, keyFields } from './check-definition.ts';
import type { InputSchema } from './input-schema.ts';
import { type Phase, PIPELINE, type Pipeline } from './pipeline.ts';
import { callbacksOf, type PipelineCallbacks } from './pipeline-callbacks.ts';
import type { PhaseOf, PipelineDefinition, PipelineOf, PipelineOptions } from './pipeline-definition.ts';

// biome-ignore lint/suspicious/noExplicitAny: an error elsewhere in a definition must not cause more errors in its handlers.
type Any = any;

/**
 * Defines a pipeline. Throws PIPELINE_INVALID if the definition is wrong. `previous` of each phase has the type that
 * the phase before returns, for up to twenty phases; after that it is unknown. Each phase has its own type parameter,
 * because TypeScript infers from one element of a list to the next only through separate parameters.
 */
export function definePipeline<
  A = Any,
  B = Any,
  C = Any,
  D = Any,
  E = Any,
  F = Any,
  G = Any,
  H = Any,
  I = Any,
  J = Any,
  K = Any,
  L = Any,
  M = Any,
  N = Any,
  O = Any,
  P = Any,
  Q = Any,
  R = Any,
  S = Any,
  T = Any,
  Schema extends InputSchema | undefined = undefined,
  ParamsSchema extends InputSchema | undefined = undefined,
  const Strategies extends readonly string[] = [],
  Resource extends string = never,
  Count extends number = number,
>(
  definition: PipelineOptions<Schema, ParamsSchema, Strategies, Resource> & {
    phases: readonly [
      PhaseOf<undefined, A, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<A>, B, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<B>, C, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<C>, D, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<D>, E, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<E>, F, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<F>, G, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<G>, H, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<H>, I, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<I>, J, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<J>, K, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<K>, L, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<L>, M, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<M>, N, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<N>, O, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<O>, P, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<P>, Q, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<Q>, R, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<R>, S, Schema, ParamsSchema, Strategies, Resource>?,
      PhaseOf<StoredValue<S>, T, Schema, ParamsSchema, Strategies, Resource>?,
      ...PhaseOf<unknown, unknown, Schema, ParamsSchema, Strategies, Resource>[],
    ] & { length: Count };
  },
): PipelineOf<
  Schema,
  ParamsSchema,
  [unknown, A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T],
  Count
>;
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
    callbacks: callbacksOf(definition as PipelineCallbacks),
  });
}

/** The pipeline, version and phases that a worker with this definition can run. */
export function abilityOf({ name, version, phases }: Pipeline): Ability {
  return { pipeline: name, version, phases: phases.map((phase) => phase.name) };
}

export function isPipeline(value: unknown): value is Pipeline {
  return (
    typeof value === 'object' && value !== null && (value as { [PIPELINE]?: unknown })[PIPELINE] === true
  );
}

// Turns a definition into a checked pipeline.
import type { Ability } from '../core/claims/ability.ts';
import { checkDefinition, keyFields } from './check-definition.ts';
import type { InputSchema } from './input-schema.ts';
import { type Phase, PIPELINE, type Pipeline } from './pipeline.ts';
import { callbacksOf, type PipelineCallbacks } from './pipeline-callbacks.ts';
import type {
  PhaseOf,
  PipelineDefinition,
  PipelineOf,
  PipelineOptions,
  Shared,
} from './pipeline-definition.ts';

// biome-ignore lint/suspicious/noExplicitAny: an error elsewhere in a definition must not cause more errors in its handlers.
type Any = any;

/**
 * Defines a pipeline. Throws PIPELINE_INVALID if the definition is wrong. `previous` of each phase has the type that
 * the phase before returns, for up to twenty phases; after that it is unknown. Each phase has its own type parameters
 * for its output, name, kind and `withOutputs`, because TypeScript infers from one element of a list to the next only
 * through separate parameters.
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
  NA extends string = string,
  NB extends string = string,
  NC extends string = string,
  ND extends string = string,
  NE extends string = string,
  NF extends string = string,
  NG extends string = string,
  NH extends string = string,
  NI extends string = string,
  NJ extends string = string,
  NK extends string = string,
  NL extends string = string,
  NM extends string = string,
  NN extends string = string,
  NO extends string = string,
  NP extends string = string,
  NQ extends string = string,
  NR extends string = string,
  NS extends string = string,
  NT extends string = string,
  KA extends string | undefined = undefined,
  KB extends string | undefined = undefined,
  KC extends string | undefined = undefined,
  KD extends string | undefined = undefined,
  KE extends string | undefined = undefined,
  KF extends string | undefined = undefined,
  KG extends string | undefined = undefined,
  KH extends string | undefined = undefined,
  KI extends string | undefined = undefined,
  KJ extends string | undefined = undefined,
  KK extends string | undefined = undefined,
  KL extends string | undefined = undefined,
  KM extends string | undefined = undefined,
  KN extends string | undefined = undefined,
  KO extends string | undefined = undefined,
  KP extends string | undefined = undefined,
  KQ extends string | undefined = undefined,
  KR extends string | undefined = undefined,
  KS extends string | undefined = undefined,
  KT extends string | undefined = undefined,
  OA extends boolean = false,
  OB extends boolean = false,
  OC extends boolean = false,
  OD extends boolean = false,
  OE extends boolean = false,
  OF extends boolean = false,
  OG extends boolean = false,
  OH extends boolean = false,
  OI extends boolean = false,
  OJ extends boolean = false,
  OK extends boolean = false,
  OL extends boolean = false,
  OM extends boolean = false,
  ON extends boolean = false,
  OO extends boolean = false,
  OP extends boolean = false,
  OQ extends boolean = false,
  OR extends boolean = false,
  OS extends boolean = false,
  OT extends boolean = false,
  Schema extends InputSchema | undefined = undefined,
  ParamsSchema extends InputSchema | undefined = undefined,
  const Strategies extends readonly string[] = [],
  Resource extends string = never,
  // biome-ignore lint/complexity/noBannedTypes: a pipeline without kinds has none.
  Kinds extends Readonly<Record<string, InputSchema>> = {},
  Merge extends 'last' | 'merge' = 'last',
  Count extends number = number,
>(
  definition: PipelineOptions<Schema, ParamsSchema, Strategies, Resource, Kinds, Merge> & {
    // biome-ignore format: one line per phase.
    phases: readonly [
      PhaseOf<[], KA, NA, OA, A, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A]], KB, NB, OB, B, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B]], KC, NC, OC, C, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C]], KD, ND, OD, D, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D]], KE, NE, OE, E, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E]], KF, NF, OF, F, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F]], KG, NG, OG, G, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G]], KH, NH, OH, H, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H]], KI, NI, OI, I, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I]], KJ, NJ, OJ, J, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J]], KK, NK, OK, K, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K]], KL, NL, OL, L, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L]], KM, NM, OM, M, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L], [KM, NM, M]], KN, NN, ON, N, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L], [KM, NM, M], [KN, NN, N]], KO, NO, OO, O, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L], [KM, NM, M], [KN, NN, N], [KO, NO, O]], KP, NP, OP, P, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L], [KM, NM, M], [KN, NN, N], [KO, NO, O], [KP, NP, P]], KQ, NQ, OQ, Q, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L], [KM, NM, M], [KN, NN, N], [KO, NO, O], [KP, NP, P], [KQ, NQ, Q]], KR, NR, OR, R, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L], [KM, NM, M], [KN, NN, N], [KO, NO, O], [KP, NP, P], [KQ, NQ, Q], [KR, NR, R]], KS, NS, OS, S, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      PhaseOf<[[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L], [KM, NM, M], [KN, NN, N], [KO, NO, O], [KP, NP, P], [KQ, NQ, Q], [KR, NR, R], [KS, NS, S]], KT, NT, OT, T, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>?,
      ...PhaseOf<unknown, undefined, string, boolean, unknown, Shared<Schema, ParamsSchema, Strategies, Resource, Kinds>>[],
    ] & { length: Count };
  },
): PipelineOf<
  Schema,
  ParamsSchema,
  // biome-ignore format: as above.
  [[KA, NA, A], [KB, NB, B], [KC, NC, C], [KD, ND, D], [KE, NE, E], [KF, NF, F], [KG, NG, G], [KH, NH, H], [KI, NI, I], [KJ, NJ, J], [KK, NK, K], [KL, NL, L], [KM, NM, M], [KN, NN, N], [KO, NO, O], [KP, NP, P], [KQ, NQ, Q], [KR, NR, R], [KS, NS, S], [KT, NT, T]],
  Merge,
  Count
>;
export function definePipeline(definition: PipelineDefinition): Pipeline {
  checkDefinition(definition);
  const { name, input, params, outputs, phases, kinds = {}, result = 'last' } = definition;
  return Object.freeze({
    [PIPELINE]: true as const,
    name,
    version: definition.version ?? null,
    input,
    kinds,
    result,
    params,
    unstorable: definition.unstorable ?? 'fail',
    key: keyFields(definition),
    summary: definition.summary ?? [],
    strategies: definition.strategies ?? [],
    resources: definition.resources ?? {},
    counters: definition.counters ?? [],
    keepDays: definition.keepDays ?? null,
    outputs,
    costUnit: definition.costUnit ?? null,
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

// The place of a phase in its pipeline. Rows of one kind run the phases of that kind, which are neighbours.
import type { InputSchema } from './input-schema.ts';
import type { Phase, Pipeline } from './pipeline.ts';

export interface PhasePlace {
  /** A row that succeeds here is DONE. */
  isLastPhase: boolean;
  /** Its claims read the outputs of all earlier phases, not only that of the one before. */
  readsOutputs: boolean;
  /** Schema of its rows. */
  schema: InputSchema | undefined;
}

export function phasePlace(pipeline: Pipeline, index: number): PhasePlace {
  const { phases, result } = pipeline;
  const phase = phases[index]!;
  const isLastPhase = phases[index + 1]?.kind !== phase.kind || index === phases.length - 1;
  const merges = result === 'merge' && isLastPhase;
  return {
    isLastPhase,
    readsOutputs: index > firstPhaseOf(phases, phase.kind) && (phase.withOutputs === true || merges),
    schema: schemaOf(pipeline, phase),
  };
}

export function schemaOf({ input, kinds }: Pipeline, { kind }: Phase): InputSchema | undefined {
  return kind === undefined ? input : kinds[kind];
}

/** -1 if the pipeline has no such kind. */
export function firstPhaseOf(phases: readonly Phase[], kind: string | undefined): number {
  return phases.findIndex((phase) => phase.kind === kind);
}

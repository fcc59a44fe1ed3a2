// The order in which a worker serves phases that compete for something: by priority. Within a pipeline, phases of equal
// priority are served last to first, so that started rows are finished before new rows start. Phases of different
// pipelines with equal priority are served equally.

export interface OrderedPhase {
  /** Compared by identity. */
  pipeline: unknown;
  /** Position in its pipeline. */
  index: number;
  priority: number;
}

export function goesBefore(a: OrderedPhase, b: OrderedPhase): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  return a.pipeline === b.pipeline && a.index > b.index;
}

/** For sorting: no phase is sorted before one that precedes it. */
export function comparePhases(a: OrderedPhase, b: OrderedPhase): number {
  return b.priority - a.priority || b.index - a.index;
}

/**
 * The share of the bound on unwritten outcomes up to which each phase continues: 1 if no phase precedes it, and one
 * step less behind each preceding level, always above 0.5. When outcomes pile up, phases at the back stop first.
 */
export function backlogShares(phases: readonly OrderedPhase[]): number[] {
  const depthOf = (phase: OrderedPhase): number =>
    Math.max(0, ...phases.filter((other) => goesBefore(other, phase)).map((other) => 1 + depthOf(other)));
  const depths = phases.map(depthOf);
  const levels = Math.max(0, ...depths) + 1;
  return depths.map((depth) => 1 - depth / (2 * levels));
}

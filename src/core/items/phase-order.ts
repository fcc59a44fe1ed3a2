// Which phases of a worker are served first where they share something: by priority; within a pipeline, among equals,
// later phases before earlier ones, so that what was begun is finished before new rows are begun. Phases of different
// pipelines with the same priority stand side by side.

export interface OrderedPhase {
  /** Identity. */
  pipeline: unknown;
  /** Place in its pipeline. */
  index: number;
  priority: number;
}

export function goesBefore(a: OrderedPhase, b: OrderedPhase): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority;
  return a.pipeline === b.pipeline && a.index > b.index;
}

/** For sorting: nobody stands before one that goes before it. */
export function comparePhases(a: OrderedPhase, b: OrderedPhase): number {
  return b.priority - a.priority || b.index - a.index;
}

/**
 * The part of the bound on unwritten outcomes up to which each phase goes on: all of it where nobody goes before, and a
 * step less behind each that does, down to more than half. When outcomes pile up those behind stop first.
 */
export function backlogShares(phases: readonly OrderedPhase[]): number[] {
  const depthOf = (phase: OrderedPhase): number =>
    Math.max(0, ...phases.filter((other) => goesBefore(other, phase)).map((other) => 1 + depthOf(other)));
  const depths = phases.map(depthOf);
  const levels = Math.max(0, ...depths) + 1;
  return depths.map((depth) => 1 - depth / (2 * levels));
}

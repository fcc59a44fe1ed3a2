// Decides whether a worker can run a job. Phases are compared by name and order: a definition with renamed or moved
// phases would read outputs that another phase stored.

export interface Ability {
  pipeline: string;
  /** Null: the definition has no version and runs only jobs that want none. */
  version: string | null;
  phases: readonly string[];
  /** Set for a time slice, which runs only this job. */
  jobId?: string;
}

export interface Wanted {
  jobId?: string;
  pipeline: string;
  /** Null: any version. */
  pipelineVersion: string | null;
  phases: readonly string[];
}

export function canRun(ability: Ability, wanted: Wanted): boolean {
  return (
    isFor(ability, wanted) &&
    ability.pipeline === wanted.pipeline &&
    (wanted.pipelineVersion === null || ability.version === wanted.pipelineVersion) &&
    samePhases(ability.phases, wanted.phases)
  );
}

/** Subjects of the sentences of `blockedBecause`. */
interface Holders {
  none: string;
  nobodyHas: string;
  they: string;
}

const WORKERS: Holders = {
  none: 'no worker is running',
  nobodyHas: 'no worker has',
  they: 'workers',
};
export const GIVEN_PIPELINES: Holders = {
  none: 'no pipeline was given',
  nobodyHas: 'the given pipelines do not include',
  they: 'the given pipelines',
};

/** Explains to people why none of the workers can run the job; null if one can. */
export function blockedBecause(
  abilities: readonly Ability[],
  wanted: Wanted,
  { none, nobodyHas, they }: Holders = WORKERS,
): string | null {
  const open = abilities.filter((ability) => isFor(ability, wanted));
  if (open.some((ability) => canRun(ability, wanted))) return null;
  if (open.length === 0) return none;
  const named = open.filter((ability) => ability.pipeline === wanted.pipeline);
  if (named.length === 0) return `${nobodyHas} the pipeline ${wanted.pipeline}`;
  const { pipelineVersion } = wanted;
  const fitting = named.filter((ability) => pipelineVersion === null || ability.version === pipelineVersion);
  if (fitting.length === 0) {
    const versions = [...new Set(named.map((ability) => ability.version ?? 'none'))].sort();
    return `${nobodyHas} version ${pipelineVersion} of the pipeline ${wanted.pipeline}; they have ${versions.join(', ')}`;
  }
  return `the phases of the pipeline ${wanted.pipeline} changed: the job has ${wanted.phases.join(', ')}, ${they} have ${fitting[0]!.phases.join(', ')}`;
}

function isFor(ability: Ability, wanted: Wanted): boolean {
  return ability.jobId === undefined || ability.jobId === wanted.jobId;
}

function samePhases(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

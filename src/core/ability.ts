// What a worker can run, and whether that is what a job wants. Phases are compared by name and order: a definition whose
// phases were renamed or moved would read outputs that another phase stored.

export interface Ability {
  pipeline: string;
  /** Null: the definition has none, and runs only jobs that want none. */
  version: string | null;
  phases: readonly string[];
}

export interface Wanted {
  pipeline: string;
  /** Null: any version. */
  pipelineVersion: string | null;
  phases: readonly string[];
}

export function canRun(ability: Ability, wanted: Wanted): boolean {
  return (
    ability.pipeline === wanted.pipeline &&
    (wanted.pipelineVersion === null || ability.version === wanted.pipelineVersion) &&
    samePhases(ability.phases, wanted.phases)
  );
}

/** Why none of them can run it, for people; null when one can. */
export function blockedBecause(abilities: readonly Ability[], wanted: Wanted): string | null {
  if (abilities.some((ability) => canRun(ability, wanted))) return null;
  if (abilities.length === 0) return 'no worker is running';
  const named = abilities.filter((ability) => ability.pipeline === wanted.pipeline);
  if (named.length === 0) return `no worker has the pipeline ${wanted.pipeline}`;
  const { pipelineVersion } = wanted;
  const fitting = named.filter((ability) => pipelineVersion === null || ability.version === pipelineVersion);
  if (fitting.length === 0) {
    const versions = [...new Set(named.map((ability) => ability.version ?? 'none'))].sort();
    return `no worker has version ${pipelineVersion} of the pipeline ${wanted.pipeline}; they have ${versions.join(', ')}`;
  }
  return `the phases of the pipeline ${wanted.pipeline} changed: the job has ${wanted.phases.join(', ')}, workers have ${fitting[0]!.phases.join(', ')}`;
}

function samePhases(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, index) => name === b[index]);
}

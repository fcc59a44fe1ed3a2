// The parts of a project that `rowmill dev` loads, and loads again after a change.
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { choosePipelines } from '../load-pipeline.ts';
import { loadProjectConfig } from '../project-config.ts';

export interface Project {
  modules: string[];
  pipelines: Pipeline[];
  /** Absolute paths of files. */
  samples: string[];
  /** The parts that are only read at the start, to compare. */
  fixed: string;
}

export async function loadProject(references: readonly string[]): Promise<Project> {
  const { modules, pipelines } = await choosePipelines(references);
  const config = await loadProjectConfig();
  return {
    modules,
    pipelines,
    samples: config?.samples ?? [],
    fixed: JSON.stringify([config?.settings, config?.sources]),
  };
}

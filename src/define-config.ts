// The type of rowmill.config.ts. cli/project-config.ts finds and checks the file.
import type { SourceInput } from './ingest/sources/source-config.ts';
import type { Settings } from './platform/settings.ts';

/** Content of `rowmill.config.ts`. Paths in it are relative to its folder. */
export interface RowmillConfig {
  /** Modules that export pipelines, such as `prices.ts`. Commands find a pipeline by the name it was defined with. */
  pipelines?: readonly string[];
  /** Settings of docs/configuration.md. Flags, the environment and the JSON settings file override them. */
  settings?: Partial<Settings>;
  /** Folders and servers whose files become jobs (docs/sources.md). */
  sources?: readonly SourceInput[];
  /** Files that the page of `rowmill dev` offers for a first job. */
  samples?: readonly string[];
}

/** Types the configuration of a project: `export default defineConfig({ pipelines: ['prices.ts'] })`. */
export function defineConfig(config: RowmillConfig): RowmillConfig {
  return config;
}

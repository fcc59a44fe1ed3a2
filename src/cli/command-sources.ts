// Sources of a command: those of the JSON settings file, else those of rowmill.config.ts.
import { resolve } from 'node:path';
import { loadSources, parseSources, type SourceConfig } from '../ingest/sources/source-config.ts';
import type { ServerOptions } from './open-server.ts';
import { inConfigFile, loadProjectConfig, projectFolder } from './project-config.ts';

export async function commandSources({ config }: ServerOptions): Promise<SourceConfig[]> {
  const sources = loadSources(config);
  if (sources.length > 0) return sources;
  const project = await loadProjectConfig();
  if (project?.sources === undefined || project.sources.length === 0) return [];
  const folder = projectFolder();
  return inConfigFile(project.path, () => parseSources(project.sources)).map((each) => below(folder, each));
}

/** Paths in rowmill.config.ts are relative to its folder. */
function below(folder: string, source: SourceConfig): SourceConfig {
  if (source.kind === 'folder') return { ...source, path: resolve(folder, source.path) };
  if (source.kind === 'ftp' && source.caFile !== undefined)
    return { ...source, caFile: resolve(folder, source.caFile) };
  if (source.kind === 'sftp' && source.privateKeyFile !== undefined)
    return { ...source, privateKeyFile: resolve(folder, source.privateKeyFile) };
  return source;
}

// Resolves references to pipelines: a name from rowmill.config.ts, a module such as `./prices.ts`, or one pipeline of a
// module such as `./prices.ts#price-lookup`.
import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { didYouMean } from '../core/errors/did-you-mean.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { loadPipelines, moduleOf } from '../pipeline/load-pipelines.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { loadProjectConfig, type ProjectConfig } from './project-config.ts';

/** The form of a path: with a slash or the extension of a module. */
const PATH = /[\\/]|\.[cm]?[jt]sx?$/;

export async function choosePipeline(reference: string): Promise<Pipeline> {
  const [path, name] = splitReference(reference);
  if (!isModule(path)) return pipelineNamed(reference);
  return oneOf(path, await loadPipelines([path]), name);
}

export interface ChosenPipelines {
  /** Modules that a worker process loads. */
  modules: string[];
  pipelines: Pipeline[];
}

/** The modules of these references, else all modules of rowmill.config.ts, with all their pipelines. */
export async function choosePipelines(references: readonly string[]): Promise<ChosenPipelines> {
  const modules = references.length === 0 ? (await configWithPipelines()).modules : [];
  for (const reference of references)
    modules.push(isModule(reference) ? reference : moduleFile(await pipelineNamed(reference)));
  return { modules, pipelines: await loadPipelines(modules) };
}

/** Path of the file that the pipeline was loaded from, relative to the working directory. */
export function moduleFile(pipeline: Pipeline): string {
  return relative(process.cwd(), moduleOf(pipeline)!);
}

function isModule(reference: string): boolean {
  return PATH.test(reference) || statSync(reference, { throwIfNoEntry: false })?.isFile() === true;
}

async function pipelineNamed(name: string): Promise<Pipeline> {
  const { path, modules } = await configWithPipelines(name);
  const pipelines = await loadPipelines(modules);
  if (pipelines.some((pipeline) => pipeline.name === name)) return oneOf(path, pipelines, name);
  const names = pipelines.map((pipeline) => pipeline.name);
  throw new RowmillError(
    'PIPELINE_NOT_FOUND',
    `${path} has no pipeline ${name}${didYouMean(name, names) || `; it has ${names.join(', ')}`}`,
    { hint: 'Name a pipeline of that file, or a module such as pipeline.ts.' },
  );
}

async function configWithPipelines(name?: string): Promise<ProjectConfig> {
  const config = await loadProjectConfig();
  if (config !== null && config.modules.length > 0) return config;
  const lacks =
    config === null
      ? 'there is no rowmill.config.ts in this folder or above it'
      : `${config.path} lists no pipelines`;
  throw new RowmillError(
    'PIPELINE_NOT_FOUND',
    name === undefined ? `expected a pipeline: ${lacks}` : `there is no file ${name}, and ${lacks}`,
    { hint: 'Name a module such as pipeline.ts, or list it under pipelines in rowmill.config.ts.' },
  );
}

function oneOf(path: string, pipelines: Pipeline[], name: string | null): Pipeline {
  const found = name === null ? pipelines : pipelines.filter((pipeline) => pipeline.name === name);
  if (found.length === 1) return found[0]!;
  const names = pipelines.map((pipeline) => pipeline.name).join(', ');
  throw new RowmillError(
    'PIPELINE_NOT_FOUND',
    found.length === 0
      ? `${path} has no pipeline ${name}; it has ${names}`
      : `${path} has several pipelines: ${names}`,
    { hint: `Name one of them: ${path}#${pipelines[0]!.name}` },
  );
}

function splitReference(reference: string): [path: string, name: string | null] {
  const at = reference.lastIndexOf('#');
  return at > 0 ? [reference.slice(0, at), reference.slice(at + 1)] : [reference, null];
}

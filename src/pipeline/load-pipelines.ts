// Loads pipeline modules, in TypeScript or JavaScript, on every supported Node version.
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { withoutTrailing } from '../core/files/without-trailing.ts';
import { isPipeline } from './define-pipeline.ts';
import type { Pipeline } from './pipeline.ts';
import { explainLoadFailure } from './explain-load-failure.ts';

const origins = new WeakMap<Pipeline, { file: string; exportName: string }>();

/** File that a pipeline was loaded from; undefined if it was defined in the running program. */
export function moduleOf(pipeline: Pipeline): string | undefined {
  return origins.get(pipeline)?.file;
}

/** Name under which that file exports it. */
export function exportNameOf(pipeline: Pipeline): string | undefined {
  return origins.get(pipeline)?.exportName;
}

/** Loads all pipelines that these modules export, in order and without duplicates. */
export async function loadPipelines(paths: string[]): Promise<Pipeline[]> {
  const { createJiti } = await import('jiti');
  const jiti = createJiti(import.meta.url, { interopDefault: true });
  const found = new Map<string, { pipeline: Pipeline; where: string }>();
  for (const path of paths) {
    const file = resolve(path);
    checkFile(path, file);
    let module: Record<string, unknown>;
    try {
      module = await jiti.import(file);
    } catch (cause) {
      throw explainLoadFailure(path, file, cause);
    }
    const exported = Object.entries(module).filter((entry): entry is [string, Pipeline] =>
      isPipeline(entry[1]),
    );
    if (exported.length === 0) throw noPipeline(path, module);
    for (const [name, pipeline] of exported) {
      const where = `${name} of ${path}`;
      const id = `${pipeline.name} ${pipeline.version ?? ''}`;
      const known = found.get(id);
      if (known && known.pipeline !== pipeline) throw sameName(pipeline.name, known.where, where);
      if (!known) found.set(id, { pipeline, where });
    }
    for (const [exportName, pipeline] of exported) origins.set(pipeline, { file, exportName });
  }
  return [...found.values()].map(({ pipeline }) => pipeline);
}

function checkFile(path: string, file: string): void {
  const status = statSync(file, { throwIfNoEntry: false });
  if (!status) {
    throw new RowmillError('PIPELINE_NOT_FOUND', `there is no file ${path}`, {
      hint: `Check the path: it is relative to ${process.cwd()}.`,
    });
  }
  if (status.isDirectory()) {
    throw new RowmillError('PIPELINE_NOT_FOUND', `${path} is a folder; expected a module with a pipeline`, {
      hint: `Name the file, such as ${withoutTrailing(path, '\\/')}/pipeline.ts`,
    });
  }
}

function noPipeline(path: string, module: Record<string, unknown>): RowmillError {
  const refuse = (message: string, hint: string) => new RowmillError('PIPELINE_NOT_FOUND', message, { hint });
  const entries = Object.entries(module);
  if (entries.length === 0)
    return refuse(
      `${path} exports nothing`,
      'Export the pipeline: export const prices = definePipeline({ … })',
    );
  const plain = entries.find(([, value]) => typeof value === 'object' && value !== null && 'phases' in value);
  if (plain)
    return refuse(
      `${path} exports ${plain[0]}, which has phases but is not a pipeline`,
      'Pass it to definePipeline and export the result.',
    );
  const maker = entries.find(([, value]) => typeof value === 'function');
  if (maker)
    return refuse(
      `${path} exports ${maker[0]}, a function, but no pipeline`,
      'Export the result of definePipeline, not a function that calls it.',
    );
  const names = entries.map(([name]) => name).join(', ');
  return refuse(`${path} exports ${names}, but no pipeline`, 'Export the result of definePipeline.');
}

function sameName(name: string, first: string, second: string): RowmillError {
  return new RowmillError('PIPELINE_INVALID', `two pipelines are named ${name}: ${first} and ${second}`, {
    hint: 'Give each a different name: jobs find their pipeline by it.',
  });
}

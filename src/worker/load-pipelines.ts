// Loads pipeline modules, TypeScript or JavaScript, on every supported Node.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createJiti } from 'jiti';
import { RowmillError } from '../core/rowmill-error.ts';
import { isPipeline, type Pipeline } from './define-pipeline.ts';

const modules = new WeakMap<Pipeline, string>();

/** The file that a pipeline was loaded from; undefined when it was defined in the running program. */
export function moduleOf(pipeline: Pipeline): string | undefined {
  return modules.get(pipeline);
}

/** All pipelines that these modules export, in order. */
export async function loadPipelines(paths: string[]): Promise<Pipeline[]> {
  const jiti = createJiti(import.meta.url, { interopDefault: true });
  const found: Pipeline[] = [];
  for (const path of paths) {
    const file = resolve(path);
    if (!existsSync(file)) throw new RowmillError('PIPELINE_NOT_FOUND', `there is no file ${path}`);
    let module: Record<string, unknown>;
    try {
      module = await jiti.import(file);
    } catch (cause) {
      throw new RowmillError('PIPELINE_INVALID', `cannot load ${path}: ${(cause as Error).message}`, {
        cause,
        hint: 'Correct the module so that it can be imported.',
      });
    }
    const exported = new Set(Object.values(module).filter(isPipeline));
    if (exported.size === 0) {
      throw new RowmillError('PIPELINE_NOT_FOUND', `${path} exports no pipeline`, {
        hint: 'Export what definePipeline returns.',
      });
    }
    for (const pipeline of exported) modules.set(pipeline, file);
    found.push(...exported);
  }
  return found;
}

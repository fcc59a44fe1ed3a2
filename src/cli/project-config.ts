// Finds, loads and checks rowmill.config.ts, the configuration of a project (docs/configuration.md). A mistake in it is
// an error that names the file.
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { didYouMean } from '../core/errors/did-you-mean.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import type { RowmillConfig } from '../define-config.ts';
import { explainLoadFailure } from '../pipeline/explain-load-failure.ts';
import { loadSettings, type Settings } from '../platform/settings.ts';

const NAMES = ['rowmill.config.ts', 'rowmill.config.mts', 'rowmill.config.js', 'rowmill.config.mjs'];
const KEYS = ['pipelines', 'settings', 'sources', 'samples'] as const satisfies (keyof RowmillConfig)[];
/** A location with a scheme, such as s3://bucket. One letter is a Windows drive. */
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;

export interface ProjectConfig {
  /** Path of the file, relative to the working directory. */
  path: string;
  /** Paths of the pipeline modules, relative to the working directory. */
  modules: string[];
  settings: Partial<Settings>;
  /** Checked by command-sources.ts, for the commands that use them. */
  sources: RowmillConfig['sources'];
  /** Absolute paths of files. */
  samples: string[];
}

/**
 * The configuration file of the working directory or the nearest folder above it. The search ends at the root of a
 * repository, the folder with `.git`, so that it never runs code from outside of the project.
 */
export function findConfigFile(from: string = process.cwd()): string | null {
  const name = NAMES.find((each) => existsSync(join(from, each)));
  if (name !== undefined) return join(from, name);
  const above = dirname(from);
  return above === from || existsSync(join(from, '.git')) ? null : findConfigFile(above);
}

/** The folder of the configuration file, else the working directory. */
export function projectFolder(): string {
  const file = findConfigFile();
  return file === null ? process.cwd() : dirname(file);
}

export async function loadProjectConfig(): Promise<ProjectConfig | null> {
  const file = findConfigFile();
  if (file === null) return null;
  const path = relative(process.cwd(), file);
  const config = checkShape(path, await importConfig(path, file));
  const folder = dirname(file);
  const settings = { ...config.settings };
  const { blobStore } = settings;
  if (blobStore !== undefined && !SCHEME.test(blobStore)) settings.blobStore = resolve(folder, blobStore);
  return {
    path,
    modules: (config.pipelines ?? []).map((module) =>
      relative(process.cwd(), listedFile(path, folder, 'pipeline module', module)),
    ),
    settings,
    sources: config.sources,
    samples: (config.samples ?? []).map((sample) => listedFile(path, folder, 'sample', sample)),
  };
}

async function importConfig(path: string, file: string): Promise<unknown> {
  const { createJiti } = await import('jiti');
  try {
    const module: Record<string, unknown> = await createJiti(import.meta.url, {
      interopDefault: false,
    }).import(file);
    return module.default;
  } catch (cause) {
    const { message } = explainLoadFailure(path, file, cause);
    throw new RowmillError('SETTINGS_INVALID', message, { hint: `Correct ${basename(file)}.`, cause });
  }
}

function checkShape(path: string, config: unknown): RowmillConfig {
  if (config === null || typeof config !== 'object')
    throw new RowmillError('SETTINGS_INVALID', `expected ${path} to have a default export, got none`, {
      hint: 'Write export default defineConfig({ pipelines: ["pipeline.ts"] }).',
    });
  for (const key of Object.keys(config))
    if (!(KEYS as readonly string[]).includes(key))
      throw new RowmillError('SETTINGS_INVALID', `unknown key in ${path}: ${key}${didYouMean(key, KEYS)}`, {
        hint: `It may have ${KEYS.join(', ')}.`,
      });
  const { pipelines, samples, settings } = config as Record<string, unknown>;
  if (pipelines !== undefined && !isTexts(pipelines))
    throw new RowmillError('SETTINGS_INVALID', `${path}: expected pipelines to be a list of module paths`, {
      hint: 'Write pipelines: ["pipeline.ts"].',
    });
  if (samples !== undefined && !isTexts(samples))
    throw new RowmillError('SETTINGS_INVALID', `${path}: expected samples to be a list of file paths`, {
      hint: 'Write samples: ["rows.csv"].',
    });
  if (settings !== undefined) {
    if (settings === null || typeof settings !== 'object')
      throw new RowmillError('SETTINGS_INVALID', `${path}: expected settings to be an object`);
    // Alone and without the environment, so that an error is about this file.
    inConfigFile(path, () => loadSettings({ flags: settings as object, environment: {} }));
  }
  return config;
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string' && each !== '');
}

/** Adds the path of the configuration file to the error of a check. */
export function inConfigFile<Result>(path: string, check: () => Result): Result {
  try {
    return check();
  } catch (cause) {
    if (!(cause instanceof RowmillError)) throw cause;
    const { code, message, hint } = cause;
    throw new RowmillError(code, `${path}: ${message}`, { hint, cause });
  }
}

function listedFile(path: string, folder: string, kind: string, listed: string): string {
  const file = resolve(folder, listed);
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) return file;
  throw new RowmillError(
    kind === 'sample' ? 'FILE_NOT_FOUND' : 'PIPELINE_NOT_FOUND',
    `${path} lists the ${kind} ${listed}, which does not exist`,
    { hint: `Correct the path: it is relative to ${folder}.` },
  );
}

// Resources of pipelines: limits declared by name, and the resources that the calls of a phase need.
import { didYouMean } from '../core/errors/did-you-mean.ts';
import { checkLimits, type DeclaredLimits } from '../core/limits/resource-limits.ts';
import { invalidPipeline } from './invalid-pipeline.ts';

/** Use of a resource by a phase, as returned by `resource`. */
export interface ResourceUse<Row = never, Name extends string = string> {
  readonly name: Name;
  /**
   * Splits the resource by a key, such as a host or a tenant. Each key has its own limits. A null key means that the
   * call does not use the resource. Without `keyOf` all calls share the limits.
   */
  readonly keyOf: KeyOf<Row> | null;
}

/** Declared as a method to get bivariant parameters, so functions typed with a partial row are accepted. */
type KeyOf<Row> = { keyOf(row: Row, call: ResourceCall): string | null }['keyOf'];

/** Values besides the row that a key can depend on. */
export interface ResourceCall {
  /** The same as in the context of the handler. */
  readonly strategy: string | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: TypeScript cannot infer the row here from the schema of the pipeline around it.
type Any = any;

/**
 * Declares that calls of a phase need a resource, or the key of it that belongs to the item. Annotate the row, as in
 * `(row: { url: string }) => …`, to have it checked against the schema of the pipeline.
 */
export function resource<Row = Record<string, Any>, const Name extends string = Any>(
  name: Name,
  keyOf?: (row: Row, call: ResourceCall) => string | null,
): ResourceUse<Row, Name> {
  return { name, keyOf: keyOf ?? null };
}

const MAX_KEY_LENGTH = 200;

/** Keys are indexed, so long ones are cut, and characters that PostgreSQL cannot store are replaced. */
export function resourceKey(value: unknown): string {
  // For example a tenant number from a file with numbers.
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  if (typeof value !== 'string' || value === '')
    throw new TypeError(
      `expected the key of a resource to be a text, got ${JSON.stringify(value) ?? typeof value}`,
    );
  return value.slice(0, MAX_KEY_LENGTH).replaceAll('\0', '\uFFFD').toWellFormed();
}

export function checkResources(pipeline: string, resources: Record<string, DeclaredLimits>): void {
  for (const [name, limits] of Object.entries(resources)) {
    const wrong = checkLimits(name, limits);
    if (wrong !== null) throw invalidPipeline(`resources of pipeline ${pipeline}: ${wrong}`);
  }
}

export function checkUses(
  pipeline: string,
  phase: { name: string; resources?: unknown; runMany?: unknown },
  declared: Record<string, DeclaredLimits>,
): void {
  const where = `phase ${phase.name} of pipeline ${pipeline}`;
  if (phase.resources === undefined) return;
  if (!Array.isArray(phase.resources)) throw invalidPipeline(`expected resources of ${where} to be a list`);
  for (const use of phase.resources as unknown[]) {
    const { name, keyOf } = usedResource(use as string | ResourceUse);
    if (typeof name !== 'string' || !Object.hasOwn(declared, name)) {
      throw invalidPipeline(
        `expected ${where} to use resources of its pipeline, got ${String(name)}${didYouMean(String(name), Object.keys(declared))}`,
        `Declare it: resources: { ${String(name)}: { ratePerSecond: 10 } }.`,
      );
    }
    if (keyOf !== null && phase.runMany !== undefined)
      throw invalidPipeline(
        `expected ${where} to use ${name} without a key: a call of runMany is one call for all its items`,
      );
  }
}

export function usedResource(use: string | ResourceUse): ResourceUse {
  return typeof use === 'string' ? { name: use, keyOf: null } : use;
}

// Resources as pipelines declare and use them: limits by name, and phases that name what their calls need.
import { didYouMean } from '../core/errors/did-you-mean.ts';
import { checkLimits, type DeclaredLimits } from '../core/limits/resource-limits.ts';
import { invalidPipeline } from './invalid-pipeline.ts';

export interface ResourceUse<Row = never, Name extends string = string> {
  readonly name: Name;
  /** Splits the resource: a host, a tenant. Each key has the limits for itself. Null: this call does not use it. */
  readonly keyOf: KeyOf<Row> | null;
}

/** A method: what is written for a part of the row, or for rows of which no schema tells anything, fits as well. */
type KeyOf<Row> = { keyOf(row: Row, call: ResourceCall): string | null }['keyOf'];

/** What a key can depend on beside the row. */
export interface ResourceCall {
  /** As in the context of the handler. */
  readonly strategy: string | undefined;
}

// biome-ignore lint/suspicious/noExplicitAny: TypeScript cannot infer the row here from the schema of the pipeline around it.
type Any = any;

/**
 * What a call of a phase needs: a resource, or the part of it that belongs to the item. Say what the row is, as in
 * `(row: { url: string }) => …`, and it is compared with the schema of the pipeline.
 */
export function resource<Row = Record<string, Any>, const Name extends string = Any>(
  name: Name,
  keyOf?: (row: Row, call: ResourceCall) => string | null,
): ResourceUse<Row, Name> {
  return { name, keyOf: keyOf ?? null };
}

const MAX_KEY_LENGTH = 200;

/** Keys go into an index: long ones are cut, and none holds what PostgreSQL cannot store. */
export function resourceKey(value: unknown): string {
  // A tenant's number, from a file that has numbers.
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

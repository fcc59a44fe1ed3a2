// Checks and encodes an emitted row inside the `emit` call, so that an error's stack trace points into the handler.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { summarize } from '../../core/items/input-summary.ts';
import { toStorableJson, toStorableText } from '../../core/items/storable-json.ts';
import type { EmittedChild } from '../../engine/flush/store-children.ts';
import { firstPhaseOf } from '../../pipeline/phase-place.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';

interface GivenRow {
  key: unknown;
  input: unknown;
  priority?: unknown;
  kind?: unknown;
}

/** An index entry holds about 2,700 bytes. */
const MAX_KEY_BYTES = 2000;
const MAX_CHILD_BYTES = 16 * 1024 * 1024;
const MAX_SUMMARY_LENGTH = 250;

/** `given`: the arguments of the call, `(key, input, options)` or `({ kind, key, input, priority })`. */
export function emittedRow(
  { name, phases, kinds }: Pick<Pipeline, 'name' | 'phases' | 'kinds'>,
  given: readonly unknown[],
  usualPriority: number,
): EmittedChild {
  const [first, input, options] = given as [unknown, unknown, { priority?: unknown } | undefined];
  if (typeof first !== 'object' || first === null)
    return emittedChild(first, input, options?.priority ?? usualPriority);
  const { kind, key, input: own, priority = usualPriority } = first as GivenRow;
  if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind)) {
    const known = Object.keys(kinds).join(', ') || 'it has none';
    throw invalid(
      `expected the kind of an emitted item to be a kind of pipeline ${name} (${known}), got ${printable(String(kind))}`,
    );
  }
  return emittedChild(key, own, priority, firstPhaseOf(phases, kind));
}

export function emittedChild(key: unknown, input: unknown, priority: unknown, phase = 0): EmittedChild {
  if (typeof key !== 'string' || key.trim() === '' || Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw invalid(`expected the key of an emitted item to be text of 1 to ${MAX_KEY_BYTES} bytes`);
  if (input === null || typeof input !== 'object' || Array.isArray(input))
    throw invalid(`expected the input of the emitted item ${printable(key)} to be an object`);
  if (!Number.isInteger(priority) || (priority as number) < -32_768 || (priority as number) > 32_767)
    throw invalid(`expected the priority of the emitted item ${printable(key)} to be a whole number`);
  const stored = toStorableJson(input, MAX_CHILD_BYTES, 'replace');
  if (!stored.ok) {
    const reason = stored.reason.replace('the result', 'it');
    throw invalid(`the emitted item ${printable(key)} cannot be stored: ${reason}`);
  }
  return {
    key: toStorableText(key, MAX_KEY_BYTES),
    json: stored.json,
    columns: Object.keys(input).map((name) => toStorableText(name, MAX_KEY_BYTES)),
    summary: toStorableText(summarize(Object.values(input)), MAX_SUMMARY_LENGTH),
    priority: priority as number,
    phase,
  };
}

function printable(key: string): string {
  return JSON.stringify(key.slice(0, 100));
}

function invalid(message: string): RowmillError {
  return new RowmillError('ITEM_INVALID', message);
}

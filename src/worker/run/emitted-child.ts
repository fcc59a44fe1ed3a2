// Checks and encodes an emitted row inside the `emit` call, so that an error's stack trace points into the handler.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { summarize } from '../../core/items/input-summary.ts';
import { toStorableJson, toStorableText } from '../../core/items/storable-json.ts';
import type { EmittedChild } from '../../engine/flush/store-children.ts';

/** An index entry holds about 2,700 bytes. */
const MAX_KEY_BYTES = 2000;
const MAX_CHILD_BYTES = 16 * 1024 * 1024;
const MAX_SUMMARY_LENGTH = 250;

export function emittedChild(key: unknown, input: unknown, priority: unknown): EmittedChild {
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
  };
}

function printable(key: string): string {
  return JSON.stringify(key.slice(0, 100));
}

function invalid(message: string): RowmillError {
  return new RowmillError('ITEM_INVALID', message);
}

// JSON lines to rows: one object a line, empty lines skipped, errors with their line.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { RowmillError } from '../../core/rowmill-error.ts';

export async function* readJsonLines(path: string): AsyncGenerator<Record<string, unknown>> {
  const lines = createInterface({
    input: createReadStream(path, 'utf8'),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  let number = 0;
  for await (const line of lines) {
    number += 1;
    const text = number === 1 ? line.replace(/^\ufeff/, '') : line;
    if (text.trim() === '') continue;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (cause) {
      throw new RowmillError(
        'FILE_INVALID',
        `line ${number} of ${path} is not JSON: ${(cause as Error).message}`,
        { cause },
      );
    }
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      throw new RowmillError('FILE_INVALID', `line ${number} of ${path}: expected a JSON object`);
    }
    yield value as Record<string, unknown>;
  }
}

import { describe, expect, it } from 'vitest';
import { unsuccessfulColumns } from '../core/files/export-columns.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import { exportJsonLines, type JsonLinesOptions } from './export-jsonl.ts';

const DONE: ExportRow = {
  seq: 3,
  inputJson: '{"a": "ü\\n", "big": 12345678901234567890}',
  status: 'DONE',
  attempts: 2,
  errorClass: null,
  error: null,
  resultJson: '{"price": 1.10}',
  phase: 0,
  finishedAtMs: 1_700_000_000_123,
};
const FAILED: ExportRow = {
  ...DONE,
  inputJson: '{}',
  status: 'ERROR',
  errorClass: 'timeout',
  error: 'no "answer"\n',
  resultJson: null,
};

async function write(rows: ExportRow[], options: JsonLinesOptions = {}): Promise<string[]> {
  async function* pages(): AsyncGenerator<ExportRow[]> {
    yield rows;
  }
  let text = '';
  for await (const chunk of exportJsonLines(pages(), unsuccessfulColumns([]), options))
    text += chunk.toString();
  expect(text.endsWith('\n')).toBe(true);
  return text.slice(0, -1).split('\n');
}

describe('exportJsonLines', () => {
  it('keeps all data, numbers to their last digit', async () => {
    const [done, failed] = await write([DONE, FAILED]);
    expect(done).toContain('12345678901234567890');
    expect(done).toContain('"result":{"price": 1.10}');
    expect(JSON.parse(done!)).toMatchObject({
      seq: 3,
      input: { a: 'ü\n' },
      status: 'DONE',
      result: { price: 1.1 },
      error: null,
      errorClass: null,
      attempts: 2,
      finishedAt: '2023-11-14T22:13:20.123Z',
    });
    expect(JSON.parse(failed!)).toMatchObject({
      input: {},
      result: null,
      error: 'no "answer"\n',
      errorClass: 'timeout',
    });
  });

  it('writes a waiting row without a result', async () => {
    const waiting: ExportRow = {
      ...DONE,
      status: 'PENDING',
      attempts: null,
      resultJson: null,
      finishedAtMs: null,
    };
    const [line] = await write([waiting]);
    expect(JSON.parse(line!)).toMatchObject({
      status: 'PENDING',
      result: null,
      attempts: null,
      finishedAt: null,
    });
  });

  it('writes unsuccessful rows as their input plus the error', async () => {
    const again: ExportRow = {
      ...FAILED,
      inputJson: '{"a": "1", "rowmill_error": "of last time", "rowmill_attempts": 9}',
    };
    const lines = await write([FAILED, again], { shape: 'unsuccessful' });
    const added = {
      rowmill_status: 'ERROR',
      rowmill_error: 'no "answer"\n',
      rowmill_error_class: 'timeout',
      rowmill_attempts: 2,
    };
    expect(JSON.parse(lines[0]!)).toEqual(added);
    expect(JSON.parse(lines[1]!)).toEqual({ a: '1', ...added });
    expect(lines[1]!.match(/rowmill_error"/g)).toHaveLength(1);
  });

  it('writes the input alone for the shape input', async () => {
    expect(await write([DONE], { shape: 'input' })).toEqual([DONE.inputJson]);
  });
});

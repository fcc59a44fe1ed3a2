import { describe, expect, it } from 'vitest';
import { allRows, shippedLimits, useTestFiles } from '../../../test/support/file-rows.ts';
import { openUrlList } from './read-url-list.ts';

const files = useTestFiles();
const limits = shippedLimits();

describe('a list of URLs', () => {
  it('yields one row per line under the header url, with the URL unchanged', async () => {
    const reader = await openUrlList(
      files.write('# shops\nhttps://example.com/a,b;c?d=e#f\n\n  HTTP://münchen.example/ß  \r\n'),
      {},
      limits,
    );
    expect(reader.headers).toEqual(['url']);
    expect(reader.detected).toEqual({ format: 'urls', encoding: 'utf-8', warnings: [] });
    expect(await allRows(reader)).toEqual([
      { kind: 'cells', line: 2, cells: ['https://example.com/a,b;c?d=e#f'], repair: null },
      { kind: 'cells', line: 4, cells: ['HTTP://münchen.example/ß'], repair: null },
    ]);
  });

  it.each([
    ['ftp://example.com/x', 'begins with http'],
    ['javascript:alert(1)', 'begins with http'],
    ['example.com', 'begins with http'],
    ['https://a.example https://b.example', 'without spaces'],
    ['https://', 'a valid URL'],
    ['http://[::1', 'a valid URL'],
  ])('rejects %j and continues', async (line, reason) => {
    const rows = await allRows(await openUrlList(files.write(`${line}\nhttps://x.example/\n`), {}, limits));
    expect(rows).toEqual([
      { kind: 'rejected', line: 1, raw: line, reason: expect.stringContaining(reason) },
      { kind: 'cells', line: 2, cells: ['https://x.example/'], repair: null },
    ]);
  });

  it('rejects a line that is longer than a cell may be', async () => {
    const long = `https://x.example/${'a'.repeat(100)}`;
    const rows = await allRows(await openUrlList(files.write(long), {}, { ...limits, maxCellBytes: 50 }));
    expect(rows).toMatchObject([
      { kind: 'rejected', line: 1, reason: expect.stringContaining('ingestMaxCellBytes') },
    ]);
  });
});

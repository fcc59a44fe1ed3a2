// The limits of a thread that reads an untrusted file, and when it is terminated.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { allRows, shippedLimits, useTestFiles } from '../../../test/support/file-rows.ts';
import { workbookParts, writeWorkbook } from '../../../test/support/workbook-writer.ts';
import { writeZip } from '../../../test/support/zip-writer.ts';
import { sniffFile, withRows } from '../open-rows.ts';

const files = useTestFiles();
const limits = shippedLimits();
/** A separate temporary folder for unpacked files: other processes use the common one. */
const folder = mkdtempSync(join(tmpdir(), 'rowmill-threads-test-'));
vi.stubEnv('TMPDIR', folder);
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Text that could be a table in many dialects: detecting which takes the thread at least a tenth of a second. */
const MANY_DIALECTS = `a,b;c|d\te:f^g~h "x" 'y'\n`.repeat(10_000);

describe('a file that keeps its thread busy for too long', () => {
  it('is refused with the name of the setting, and the next file is read', async () => {
    const path = files.write(MANY_DIALECTS);
    const reading = withRows(path, {}, { ...limits, fileBusyMs: 2 }, async () => 'read');
    await expect(reading).rejects.toMatchObject({
      code: 'FILE_STALLS_READER',
      message: expect.stringContaining('fileBusyMs'),
      status: 422,
    });
    const headers = await withRows(files.write('a,b\n1,2\n'), {}, limits, async (reader) => reader.headers);
    expect(headers).toEqual(['a', 'b']);
  });

  it('leaves no unpacked files behind', async () => {
    const path = files.write(gzipSync(MANY_DIALECTS));
    const unpacked = await withRows(path, {}, limits, async () => readdirSync(folder));
    expect(unpacked).toHaveLength(1);
    const reading = withRows(path, {}, { ...limits, fileBusyMs: 2 }, async () => 'read');
    await expect(reading).rejects.toMatchObject({ code: 'FILE_STALLS_READER' });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a file whose caller aborts', () => {
  it('is not opened any further', async () => {
    const stop = new AbortController();
    const reading = withRows(files.write(MANY_DIALECTS), {}, limits, async () => 'read', stop.signal);
    stop.abort(new Error('the client went away'));
    await expect(reading).rejects.toThrow('the client went away');
    await expect(sniffFile(files.write('a'), limits, stop.signal)).rejects.toThrow('the client went away');
  });

  it('yields no more rows if it is a workbook', async () => {
    const data = Array.from({ length: 3000 }, (_, n) => `<row r="${n + 1}"><c><v>${n}</v></c></row>`).join(
      '',
    );
    const path = files.write(Buffer.from(writeWorkbook({ sheets: [{ name: 'One', data }] })));
    const stop = new AbortController();
    const reading = withRows(
      path,
      {},
      limits,
      async (reader) => {
        for await (const _ of reader.rows()) stop.abort(new Error('the client went away'));
      },
      stop.signal,
    );
    await expect(reading).rejects.toThrow('the client went away');
  });
});

describe('a workbook', () => {
  it('in which two sheets share a part is refused', async () => {
    const parts = workbookParts({
      sheets: [
        { name: 'One', data: '' },
        { name: 'Two', data: '' },
      ],
    });
    const relations = parts.find(({ name }) => name.endsWith('workbook.xml.rels'))!;
    relations.data = String(relations.data).replace('sheet2.xml', 'sheet1.xml');
    await expect(withRows(files.write(writeZip(parts)), {}, limits, allRows)).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining('xl/worksheets/sheet1.xml for two'),
    });
  });

  it('with too many sheets is refused', async () => {
    const sheets = Array.from({ length: 1001 }, (_, n) => ({ name: `S${n}`, data: '' }));
    await expect(withRows(files.write(writeWorkbook({ sheets })), {}, limits, allRows)).rejects.toMatchObject(
      {
        code: 'FILE_TOO_LARGE',
        message: expect.stringContaining('1000 sheets'),
      },
    );
  });

  it('is read to its end by the thread that opened it', async () => {
    const data = '<row r="1"><c t="str"><v>n</v></c></row><row r="2"><c><v>7</v></c></row>';
    const path = files.write(Buffer.from(writeWorkbook({ sheets: [{ name: 'One', data }] })));
    expect(await withRows(path, {}, limits, allRows)).toMatchObject([{ cells: ['7'] }]);
  });

  it('of ordinary size leaves its thread to the next file, one that needs much memory does not', async () => {
    const rowsOf = (first: string) => `<row r="1">${first}</row><row r="2"><c><v>7</v></c></row>`;
    const ordinary = files.write(
      writeWorkbook({ sheets: [{ name: 'One', data: rowsOf('<c t="str"><v>n</v></c>') }] }),
    );
    const strings = Array.from(
      { length: 300_000 },
      (_, n) => `<si><t>${String(n).padStart(60, 'n')}</t></si>`,
    );
    const large = files.write(
      writeWorkbook({
        sheets: [{ name: 'One', data: rowsOf('<c t="s"><v>0</v></c>') }],
        sharedStrings: `<sst>${strings.join('')}</sst>`,
      }),
    );
    let created = 0;
    const count = (): void => {
      created += 1;
    };
    const threadsFor = async (path: string): Promise<number> => {
      created = 0;
      expect(await withRows(path, {}, limits, allRows)).toMatchObject([{ cells: ['7'] }]);
      return created;
    };
    await threadsFor(ordinary);
    process.on('worker', count);
    try {
      expect(await threadsFor(ordinary)).toBe(0);
      await expect(withRows(files.write(writeZip([])), {}, limits, allRows)).rejects.toThrow();
      expect(await threadsFor(large)).toBe(0);
      expect(await threadsFor(ordinary)).toBe(1);
      expect(await threadsFor(ordinary)).toBe(0);
    } finally {
      process.off('worker', count);
    }
  });
});

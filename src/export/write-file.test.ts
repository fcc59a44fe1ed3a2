import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { readXlsx } from 'hucre/xlsx';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobWithItems } from '../../test/support/job-factory.ts';
import { seedResultColumns, seedResults } from '../../test/support/seed-results.ts';
import { useTestDatabase } from '../../test/support/test-database.ts';
import type { Executor } from '../platform/database.ts';
import { type FileRequest, writeExportFile } from './write-file.ts';

const database = useTestDatabase();
const ITEMS = 3000;
let folder: string;
let db: Executor;
let jobId: string;
let request: FileRequest;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-export-'));
  const context = database.context();
  db = context.db;
  jobId = await jobWithItems(context, {
    items: ITEMS,
    input: (n) => ({ text: `"ü"\n${n} `.repeat(1 + (n % 30)) }),
  });
  await seedResults(
    database,
    jobId,
    Array.from({ length: ITEMS }, (_, seq) => ({ seq, result: { r: seq } })),
  );
  await seedResultColumns(database, jobId, ['r']);
  request = { jobId, format: 'csv', pageRows: 300 };
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Fails like a lost connection after a number of pages, and counts the pages. */
function failingAfter(pages: number): Executor & { pages: number } {
  const failing = {
    pages: 0,
    run: db.run.bind(db),
    runArrays: async (...[statement, values]: Parameters<Executor['runArrays']>) => {
      if (statement.name.startsWith('export-')) {
        failing.pages += 1;
        if (failing.pages > pages) throw new Error('connection lost');
      }
      return db.runArrays(statement, values);
    },
  } as Executor & { pages: number };
  return failing;
}

function pathOf(name: string): string {
  return join(folder, name);
}

function filesOf(name: string): string[] {
  return readdirSync(folder).filter((file) => file.startsWith(name));
}

describe('writeExportFile', () => {
  it('gives the file its name only when it is complete', async () => {
    const path = pathOf('deep/er/results.csv');
    const written = await writeExportFile(db, request, path);
    expect(written).toEqual({ rows: ITEMS, bytes: readFileSync(path).length, resumedRows: 0 });
    expect(readdirSync(pathOf('deep/er'))).toEqual(['results.csv']);

    const broken = pathOf('broken.csv');
    await expect(writeExportFile(failingAfter(3), request, broken)).rejects.toThrow('connection lost');
    expect(filesOf('broken.csv')).toEqual(['broken.csv.part']);
  });

  it('replaces an older file of that name, but not before the new one is complete', async () => {
    const path = pathOf('again.csv');
    writeFileSync(path, 'old');
    await expect(writeExportFile(failingAfter(2), request, path)).rejects.toThrow('connection lost');
    expect(readFileSync(path, 'utf8')).toBe('old');
    await writeExportFile(db, request, path);
    expect(readFileSync(path, 'utf8')).not.toBe('old');
  });

  it('writes the same bytes however often it is interrupted, and reads no synced row twice', async () => {
    for (const format of ['csv', 'jsonl'] as const) {
      const whole = pathOf(`whole.${format}`);
      await writeExportFile(db, { ...request, format }, whole);
      const expected = readFileSync(whole);
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 3 }),
          async (cuts) => {
            runs += 1;
            const path = pathOf(`cut-${runs}.${format}`);
            for (const pages of cuts) {
              const attempt = writeExportFile(failingAfter(pages), { ...request, format }, path, {
                checkpointBytes: 1,
              });
              await attempt.catch((error: unknown) => expect(String(error)).toContain('connection lost'));
              if (filesOf(`cut-${runs}.${format}.part`).length === 2) {
                // Bytes after the last checkpoint may be garbage, and longer than the rest of the file.
                appendFileSync(`${path}.part`, Buffer.alloc(expected.length, 'torn'));
              }
            }
            const isBegun = filesOf(`cut-${runs}.${format}.part`).length === 2;
            const { rows, resumedRows, bytes } = await writeExportFile(db, { ...request, format }, path, {
              checkpointBytes: 1,
            });
            expect(readFileSync(path).equals(expected)).toBe(true);
            expect([rows, bytes]).toEqual([ITEMS, expected.length]);
            expect(resumedRows > 0).toBe(isBegun);
            expect(filesOf(`cut-${runs}.${format}.part`)).toEqual([]);
          },
        ),
        { numRuns: 8 },
      );
    }
  });

  it('stops at a signal and resumes from there', async () => {
    const path = pathOf('stopped.csv');
    const stop = new AbortController();
    const stopping: Executor = {
      run: db.run.bind(db),
      runArrays: async (statement, values) => {
        if (Number(values?.[2]) > 2000) stop.abort(new Error('stopped by a person'));
        return db.runArrays(statement, values);
      },
    };
    const stopped = writeExportFile(stopping, { ...request, signal: stop.signal }, path, {
      checkpointBytes: 1,
    });
    await expect(stopped).rejects.toThrow('stopped by a person');
    const { rows, resumedRows } = await writeExportFile(db, request, path);
    expect(rows).toBe(ITEMS);
    expect(resumedRows).toBeGreaterThan(1000);
  });

  it.each<[string, (path: string) => void | Promise<void>, Partial<FileRequest>]>([
    ['another request', () => {}, { filter: { search: '1' } }],
    ['other options', () => {}, { bom: true }],
    ['a damaged checkpoint', (path) => writeFileSync(`${path}.part.json`, '{'), {}],
    ['fewer bytes than the checkpoint', (path) => truncateSync(`${path}.part`, 10), {}],
    ['no bytes', (path) => rmSync(`${path}.part`), {}],
    [
      'other columns',
      async () => {
        await database.query(`update result_columns set name = name || '_' where job_id = $1`, [jobId]);
      },
      {},
    ],
  ])('starts from the beginning if it finds %s', async (name, change, changes) => {
    const path = pathOf(`${name}.csv`);
    const attempt = writeExportFile(failingAfter(5), request, path, { checkpointBytes: 1 });
    await expect(attempt).rejects.toThrow('connection lost');
    expect(filesOf(`${name}.csv`)).toHaveLength(2);
    await change(path);
    const asked = { ...request, ...changes };
    expect(await writeExportFile(db, asked, path)).toMatchObject({ resumedRows: 0 });
    const plain = pathOf(`${name} plain.csv`);
    await writeExportFile(db, asked, plain);
    expect(readFileSync(path).equals(readFileSync(plain))).toBe(true);
    expect(filesOf(`${name}.csv.part`)).toEqual([]);
  });

  it('writes a workbook from the beginning every time', async () => {
    const path = pathOf('book.xlsx');
    const attempt = writeExportFile(failingAfter(5), { ...request, format: 'xlsx' }, path, {
      checkpointBytes: 1,
    });
    await expect(attempt).rejects.toThrow('connection lost');
    expect(filesOf('book.xlsx')).toEqual(['book.xlsx.part']);
    const { rows, resumedRows } = await writeExportFile(db, { ...request, format: 'xlsx' }, path);
    expect([rows, resumedRows]).toEqual([ITEMS, 0]);
    expect((await readXlsx(readFileSync(path))).sheets[0]!.rows).toHaveLength(ITEMS + 1);
  });
});

// Reads every file of the corpus and compares the result with csv-expected.ts, and that table with the documentation.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { openCsv } from '../../src/ingest/formats/csv/read-csv.ts';
import type { CsvDialect, FormatOptions, ReadLimits, ReadRow } from '../../src/ingest/row-reader.ts';
import { EXPECTED_CSV, type ExpectedCsv } from './csv-expected.ts';
import { makeCorpus } from './make-corpus.ts';

const PLAIN = fileURLToPath(new URL('./csv/', import.meta.url));
const made = mkdtempSync(join(tmpdir(), 'rowmill-corpus-'));
afterAll(() => rmSync(made, { recursive: true }));

const paths = new Map(readdirSync(PLAIN).map((name) => [name, join(PLAIN, name)]));
for (const [name, content] of makeCorpus()) {
  if (paths.has(name)) throw new Error(`${name} is in the corpus twice`);
  paths.set(name, join(made, name));
  writeFileSync(join(made, name), content);
}

const LIMITS = {
  maxColumns: 2000,
  maxCellBytes: 2 * 1024 * 1024,
  maxRowBytes: 4 * 1024 * 1024,
} as ReadLimits;
const USUAL: CsvDialect = {
  encoding: 'utf-8',
  bom: false,
  delimiter: ',',
  quote: '"',
  escape: '"',
  lineEnd: '\n',
  header: true,
  skipLines: 0,
};

function summarize(row: ReadRow): string {
  if (row.kind === 'rejected') return `${row.line} (${row.reason})`;
  if (row.kind === 'object') throw new Error('a table has no objects');
  return `${row.line} ${row.cells.join('·')}${row.repair === null ? '' : ` [${row.repair}]`}`;
}

async function read(file: string, options: FormatOptions) {
  const reader = await openCsv(paths.get(file)!, options, LIMITS);
  const rows: ReadRow[] = [];
  for await (const batch of reader.rows()) for (const row of batch) rows.push(row);
  return { ...reader, headers: reader.headers!, rows };
}

async function check(expected: ExpectedCsv): Promise<void> {
  const reading = read(expected.file, expected.options ?? {});
  if (expected.refused) {
    await expect(reading).rejects.toMatchObject(expected.refused);
    return;
  }
  const { detected, headers, rows } = await reading;
  expect(detected.csv).toEqual({ ...USUAL, ...expected.dialect });
  expect(detected.preamble).toBe(expected.preamble);
  expect(detected.warnings).toEqual(expected.warnings ?? []);
  if (expected.columns === undefined) expect(headers.join('·')).toBe(expected.headers);
  else expect(headers).toHaveLength(expected.columns);
  for (const row of rows)
    if (row.kind === 'cells' && row.cells.length !== headers.length) expect(row).toBeNull();
  const summaries = rows.map(summarize);
  if (expected.rowCount === undefined) expect(summaries).toEqual(expected.rows);
  else {
    expect(summaries).toHaveLength(expected.rowCount);
    const known = new Set(summaries);
    expect(expected.rows!.filter((row) => !known.has(row))).toEqual([]);
  }
}

describe('the corpus of CSV files', () => {
  for (const expected of EXPECTED_CSV) {
    const options = expected.options === undefined ? '' : ` with ${JSON.stringify(expected.options)}`;
    it(`is read as expected: ${expected.file}${options}`, async () => {
      await check(expected);
    });
  }

  it('does not match a wrong expectation', async () => {
    const wrong = EXPECTED_CSV.find((expected) => expected.file === 'plain.csv')!;
    await expect(check({ ...wrong, headers: 'id·name' })).rejects.toThrow();
    await expect(check({ ...wrong, rows: wrong.rows!.slice(1) })).rejects.toThrow();
    await expect(check({ ...wrong, dialect: { delimiter: ';' } })).rejects.toThrow();
  });

  it('has at least sixty files, and an expectation for each', () => {
    const expected = new Set(EXPECTED_CSV.map(({ file }) => file));
    expect([...paths.keys()].sort()).toEqual([...expected].sort());
    expect(paths.size).toBeGreaterThanOrEqual(60);
  });

  it('keeps every cell of a megabyte complete', async () => {
    const { rows } = await read('huge-cell.csv', {});
    const lengths = rows.map((row) =>
      row.kind === 'cells' ? row.cells.map((cell) => (cell as string).length) : [],
    );
    expect(lengths.slice(0, 2)).toEqual([
      [1, 1024 * 1024],
      [1, 1024 * 1024],
    ]);
  });

  it('is read the same again with the detected dialect', async () => {
    for (const { file, refused, options } of EXPECTED_CSV) {
      if (refused || options) continue;
      const first = await read(file, {});
      const { encoding, delimiter, quote, header, skipLines, escape: escapeBy } = first.detected.csv!;
      const again = await read(file, { encoding, delimiter, quote, header, skipLines, escape: escapeBy });
      expect(again.headers, file).toEqual(first.headers);
      expect(again.rows.length, file).toBe(first.rows.length);
      expect(again.rows.slice(0, 2000), file).toEqual(first.rows.slice(0, 2000));
    }
  });

  it('does not change the prototype of objects', async () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    await read('prototype-headers.csv', {});
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });

  it('contains every case that docs/files-csv.md names', () => {
    const page = readFileSync(new URL('../../docs/files-csv.md', import.meta.url), 'utf8');
    const named = [...page.matchAll(/`([a-z0-9-]+\.(?:csv|tsv|txt|dat))`/g)].map((match) => match[1]!);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !paths.has(name))).toEqual([]);
  });

  it('agrees with the examples of docs/files-csv.md', async () => {
    const page = readFileSync(new URL('../../docs/files-csv.md', import.meta.url), 'utf8');
    const table = page.split('## Malformed lines')[1]!.split('\n## ')[0]!;
    const examples = [...table.matchAll(/^\| `(.+?)` +\| (rejected|a row with a note|a row)\b/gm)];
    expect(examples.length).toBeGreaterThan(9);
    for (const [, line, result] of examples) {
      paths.set('example.csv', join(made, 'example.csv'));
      const plain = ['id,name,city', '5,Eve,Bonn', '6,Fay,Rome', '7,Gus,Bern', '8,Hal,Wien'];
      writeFileSync(paths.get('example.csv')!, [...plain, line, '9,Ida,Graz', ''].join('\n'));
      const { rows } = await read('example.csv', {});
      const row = rows[4]!;
      const got = row.kind === 'rejected' ? 'rejected' : row.repair === null ? 'a row' : 'a row with a note';
      expect([line, got, rows.length]).toEqual([line, result, 6]);
    }
    paths.delete('example.csv');
  });
});

// The file of failed rows can be read again: the same reader returns the same rows.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import iconv from 'iconv-lite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FormatOptions } from '../../src/core/files/file-format.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { writeExportFile } from '../../src/export/write-file.ts';
import { openCsv } from '../../src/ingest/formats/csv/read-csv.ts';
import { unguardRows } from '../../src/ingest/formats/unguard-rows.ts';
import type { ReadLimits } from '../../src/ingest/row-reader.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { seedResults } from '../support/seed-results.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let context: EngineContext;
let folder: string;

beforeAll(() => {
  context = database.context();
  folder = mkdtempSync(join(tmpdir(), 'rowmill-failed-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const LIMITS: ReadLimits = {
  maxColumns: 100,
  maxCellBytes: 1_000_000,
  maxRowBytes: 1_000_000,
  inflateMaxBytes: 0,
  inflateMaxRatio: 0,
  archiveMaxEntries: 0,
  fileBusyMs: 30_000,
  xlsxMemoryMb: 0,
  imageMaxBytes: 0,
  imageMaxPixels: 0,
};

async function readFile(path: string, options: FormatOptions) {
  const reader = unguardRows(await openCsv(path, options, LIMITS));
  const rows: string[][] = [];
  for await (const batch of reader.rows()) {
    for (const row of batch)
      rows.push(row.kind === 'cells' ? (row.cells as string[]) : [`${row.kind}: ${JSON.stringify(row)}`]);
  }
  return { detected: reader.detected, headers: reader.headers!, rows };
}

/** Texts after any delimiter or quote, in case a spreadsheet splits there. */
function cellsOf(text: string): string[] {
  return text.split(/[\n,;|]|\t(?!x)/).map((cell) => cell.replace(/^[\ufeff"]+/, ''));
}

test.each<[string, string | Buffer, FormatOptions]>([
  ['commas', 'id,name,note\n1,"a, b",=1+1\n2,"say ""hi""",-5\n3,ümläut,\n', {}],
  ['semicolons', 'id;name;price\r\n1;Lampe;1,50\r\n2;"Stuhl; rot";2,00\r\n3;Tisch;-3,25\r\n', {}],
  ['tabs', 'id\tname\tnote\n1\tone\tx y\n2\ttwo\t"quoted\ttab"\n3\tthree\tz\n', {}],
  ['Latin letters', iconv.encode('id;name\n1;Müller\n2;Söhne\n3;Straße\n', 'windows-1252'), {}],
  ['a byte order mark', '\ufeffid,name\n1,one\n2,two\n3,three\n', {}],
  ['titles above the header', 'Report of May\n\nid,name,price\n1,one,5\n2,two,6\n3,three,7\n', {}],
  ['lines skipped as asked', 'x\ny\nid,name\n1,one\n2,two\n', { skipLines: 2 }],
  ['no header', '1,one,5.5\n2,two,6.5\n3,three,7.5\n', { header: false }],
  ['formulas', `id,=note\n1,=1+1\n2,'=1+1\n3,''@x\n4,'\n5,-5\n6,'-5\n7,+49 30\n8,"\tx"\n9,'plain\n`, {}],
  ['formulas above the header', 'Report;=cmd()\n\nid;name;price\n1;one;=1\n2;two;6\n3;three;7\n', {}],
  ['formulas in one column', 'email\n=x()\n@b\nc@x.org\n', {}],
  ['one column', 'email\na@x.org\nb@x.org\nc@x.org\n', {}],
  ['backslashes', 'id,name\n1,"a \\"b\\" c"\n2,"d \\"e\\""\n3,"f, g"\n', { escape: '\\' }],
  ['two characters between cells', 'id||name||n\n1||one||5\n2||t|wo||6\n3||three||7\n', {}],
])('failed rows of a file with %s can be read again', async (name, content, options) => {
  const path = join(folder, `${name}.csv`);
  writeFileSync(path, content);
  const original = await readFile(path, options);
  expect(original.rows.length).toBeGreaterThan(1);

  const columns = original.headers.map((header, index) => ({ key: `k${index}`, header }));
  const jobId = await jobWithItems(context, {
    items: original.rows.length,
    input: (n) => Object.fromEntries(columns.map(({ key }, index) => [key, original.rows[n]![index]])),
  });
  const source = {
    kind: 'file',
    name,
    blobKey: '',
    sha256: '',
    bytes: 0,
    options,
    detected: original.detected,
  };
  await database.query('update jobs set input_columns = $2, source = $3 where job_id = $1', [
    jobId,
    JSON.stringify(columns),
    JSON.stringify(source),
  ]);
  const error = '=HYPERLINK("http://x", "no answer, 500;")\nreally';
  await seedResults(
    database,
    jobId,
    original.rows.map((_, seq) => ({ seq, status: 'ERROR', errorClass: 'overloaded', error })),
  );

  const failedPath = join(folder, `${name} failed.csv`);
  await writeExportFile(
    context.db,
    { jobId, format: 'csv', kind: 'unsuccessful', pageRows: 100 },
    failedPath,
  );
  for (const cell of cellsOf(readFileSync(failedPath, 'utf8')))
    expect(cell, 'a spreadsheet evaluates no cell').not.toMatch(/^[=@+\t]|^-\D/);
  const again = await readFile(failedPath, options);
  const added = ['rowmill_status', 'rowmill_error', 'rowmill_error_class', 'rowmill_attempts'];
  if (original.detected.csv!.header) expect(again.headers).toEqual([...original.headers, ...added]);
  // Without a header the file is not recognised as a file of Rowmill.
  const readError = original.detected.csv!.header ? error : `'${error}`;
  expect(again.rows).toEqual(original.rows.map((row) => [...row, 'ERROR', readError, 'overloaded', '1']));
});

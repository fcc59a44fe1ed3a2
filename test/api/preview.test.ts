// The preview of a file over HTTP, before a job is created.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { preview } from '../../src/contract/new-job.ts';
import { parseSources } from '../../src/ingest/sources/source-config.ts';
import { definePipeline } from '../../src/index.ts';
import { csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { writeWorkbook } from '../support/workbook-writer.ts';

const database = useTestDatabase();
const pipelines = [doubling];
const folder = mkdtempSync(join(tmpdir(), 'rowmill-preview-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('describes a file: dialect, columns, missing fields with suggestions, and rows with their problems', async () => {
  const blobStore = join(folder, 'blobs');
  const { url } = await startTestApi(database.url, { pipelines, settings: { blobStore } });
  const text = 'N;notes;rowmill_error\n1;a;x\nfoo;b;\n3\n';
  const { status, body } = await send(
    url,
    'POST',
    '/api/jobs/preview',
    uploadForm({ pipeline: 'doubling' }, text),
  );
  expect(status).toBe(200);
  expect(preview.parse(body)).toEqual(body);
  expect(body).toMatchObject({
    file: { name: 'rows.csv', bytes: Buffer.byteLength(text) },
    detected: { format: 'csv', csv: { delimiter: ';', header: true } },
    columns: [
      { header: 'N', field: 'n', match: 'sure' },
      { header: 'notes', field: 'notes', match: null },
      { header: 'rowmill_error', field: null, match: null },
    ],
    missing: [{ field: 'note', required: false, suggestions: ['notes'] }],
    looked: { rows: 3, withProblems: 2, wholeFile: true },
    checked: {
      rows: 3,
      refused: 1,
      rejected: 1,
      reasons: [
        { line: 3, reason: expect.stringMatching(/^n: /) },
        { line: 4, reason: 'expected 3 cells, got 1' },
      ],
      wholeFile: true,
      stoppedBy: null,
    },
  });
  expect(body.rows[0]).toEqual({ line: 2, input: { n: '1', notes: 'a' }, raw: null, problems: [] });
  expect(body.rows[1].problems).toEqual([
    {
      field: 'n',
      message: 'expected a number, got "foo"',
      kind: expect.stringMatching(/^expected a number/),
    },
  ]);
  expect(body.rows[2]).toMatchObject({ input: null, raw: '3', problems: [{ field: null }] });
  expect(body.problemRows.map(({ line }: { line: number }) => line)).toEqual([3, 4]);
  expect(body.checked.kinds).toEqual([
    { field: 'n', kind: body.rows[1].problems[0].kind, rows: 1 },
    { field: null, kind: 'cannot be read', rows: 1 },
  ]);
  expect(await database.query('select job_id from jobs')).toEqual([]);
  expect(readdirSync(folder)).not.toContain('blobs');
});

/** A title sheet, then a sheet with titles and a note above a table. */
const messyWorkbook = () => {
  const row = (line: number, cells: string[]) =>
    `<row r="${line}">${cells
      .map((text, at) => `<c r="${'ABCDEF'[at]}${line}" t="inlineStr"><is><t>${text}</t></is></c>`)
      .join('')}</row>`;
  const customers = [
    row(1, ['Customers of 2026']),
    row(2, ['Exported by Ms Jansen']),
    row(5, ['Company name', 'URL', 'Country code', 'Headcount']),
    row(6, ['Acme', 'https://acme.example', 'DE', '120']),
    row(7, ['Globex', 'https://globex.example', 'FR', '80']),
    row(8, ['Initech', 'https://initech.example', 'US', 'ca. 50']),
  ];
  return writeWorkbook({
    sheets: [
      { name: 'Cover', data: row(1, ['Customer list']) },
      { name: 'Customers', data: customers.join('') },
      { name: 'Empty', data: '' },
    ],
  });
};
const companies = definePipeline({
  name: 'companies',
  input: z.object({
    name: z.string().min(1),
    website: z.url(),
    country: z.string().length(2),
    employees: z.coerce.number(),
  }),
  phases: [{ name: 'look', run: () => ({}) }],
});

test('shows the first rows and sheets of a messy workbook, and maps its columns with a confidence', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [companies] });
  const look = async (job: object) => {
    const form = new FormData();
    form.append('job', JSON.stringify({ pipeline: 'companies', ...job }));
    form.append('file', new Blob([messyWorkbook()]), 'customers.xlsx');
    const { body } = await send(url, 'POST', '/api/jobs/preview', form);
    expect(preview.parse(body)).toEqual(body);
    return body;
  };
  const body = await look({ guess: true });
  expect(body.detected).toMatchObject({ sheet: 'Customers' });
  expect(body.top).toMatchObject({ headerLines: [5], refusal: null });
  expect(body.top.rows.map(({ line, cells }: { line: number; cells: string[] }) => [line, cells[0]])).toEqual(
    [
      [1, 'Customers of 2026'],
      [2, 'Exported by Ms Jansen'],
      [5, 'Company name'],
      [6, 'Acme'],
      [7, 'Globex'],
      [8, 'Initech'],
    ],
  );
  expect(body.top.sheets).toEqual([
    { name: 'Cover', rows: 1, isCounted: true, isHidden: false },
    { name: 'Customers', rows: 6, isCounted: true, isHidden: false },
    { name: 'Empty', rows: 0, isCounted: true, isHidden: false },
  ]);
  expect(body.columns).toEqual([
    { header: 'Company name', field: 'name', match: 'likely' },
    { header: 'URL', field: 'website', match: 'likely' },
    { header: 'Country code', field: 'country', match: 'likely' },
    { header: 'Headcount', field: 'employees', match: 'likely' },
  ]);
  expect(body.checked).toMatchObject({ rows: 3, refused: 1, kinds: [{ field: 'employees', rows: 1 }] });
  // Without guesses, only names and synonyms count, as for a job.
  expect((await look({})).missing).toEqual([
    { field: 'name', required: true, suggestions: ['Company name'] },
  ]);
  // A person clicks the wrong row, and then sees why that does not work.
  const wrong = await look({ format: { skipLines: 1, header: true }, guess: true });
  expect(wrong.top).toMatchObject({ headerLines: [2], refusal: expect.stringContaining('the one column') });
});

test('shows lines above the table of a CSV file, and takes the header row that a person chooses', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const text = 'Stock "list\n\nN;note\n1;a\n2;b\n';
  const look = async (job: object) =>
    (await send(url, 'POST', '/api/jobs/preview', uploadForm({ pipeline: 'doubling', ...job }, text))).body;
  const { top } = await look({});
  expect(top).toEqual({
    headerLines: [3],
    refusal: null,
    rows: [
      { line: 1, cells: [expect.stringContaining('list')] },
      { line: 3, cells: ['N', 'note'] },
      { line: 4, cells: ['1', 'a'] },
      { line: 5, cells: ['2', 'b'] },
    ],
  });
  const chosen = await look({ format: { skipLines: 3, header: true } });
  expect(chosen.top.headerLines).toEqual([4]);
  expect(chosen.columns.map(({ header }: { header: string }) => header)).toEqual(['1', 'a']);
});

test('leaves a field without a column if a person wants that', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const form = () => uploadForm({ pipeline: 'doubling', mapping: { note: '' } }, 'n,note\n1,a\n');
  const { body } = await send(url, 'POST', '/api/jobs/preview', form());
  expect(body.missing).toMatchObject([{ field: 'note', required: false }]);
  const { status, body: made } = await send(url, 'POST', '/api/jobs', form());
  expect(status).toBe(202);
  const [job] = await database.query('select input_columns from jobs where job_id = $1', [made.jobId]);
  expect(job).toEqual({
    input_columns: [
      { key: 'n', header: 'n' },
      { key: 'note_2', header: 'note' },
    ],
  });
});

test('reports a required field without a column, and does not refuse it', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const { body } = await send(
    url,
    'POST',
    '/api/jobs/preview',
    uploadForm({ pipeline: 'doubling' }, 'm,note\n1,a\n'),
  );
  expect(body.missing).toEqual([{ field: 'n', required: true, suggestions: ['m'] }]);
  const mapped = await send(
    url,
    'POST',
    '/api/jobs/preview',
    uploadForm({ pipeline: 'doubling', mapping: { n: 'm' } }, 'm,note\n1,a\n'),
  );
  expect(mapped.body).toMatchObject({ missing: [], looked: { rows: 1, withProblems: 0 } });
});

test('respects the format options and the number of rows', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const form = uploadForm({ format: { delimiter: '|', header: false }, rows: 2 }, 'a,b\nc,d\ne,f\n');
  const { body } = await send(url, 'POST', '/api/jobs/preview', form);
  expect(body.columns).toHaveLength(1);
  expect(body.rows).toHaveLength(2);
  expect(body.looked).toMatchObject({ rows: 3, wholeFile: true });
});

test('reads only the beginning of a long file', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const { body } = await send(
    url,
    'POST',
    '/api/jobs/preview',
    uploadForm({ pipeline: 'doubling' }, csvOf(5000)),
  );
  expect(body.looked).toEqual({ rows: 1000, withProblems: 0, wholeFile: false });
  expect(body.rows).toHaveLength(20);
});

test('counts rows that the pipeline refuses beyond the beginning, up to a reported limit', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const checkedOf = async (text: string) => {
    const form = uploadForm({ pipeline: 'doubling' }, text);
    return (await send(url, 'POST', '/api/jobs/preview', form)).body.checked;
  };
  const late = await checkedOf(`${csvOf(3000)}none,x\n`);
  expect(late).toMatchObject({ rows: 3001, refused: 1, rejected: 0, wholeFile: true, stoppedBy: null });
  expect(late.reasons).toEqual([{ line: 3002, reason: expect.stringMatching(/^n: /) }]);
  const long = await checkedOf(csvOf(10_001));
  expect(long).toMatchObject({ refused: 0, wholeFile: false });
  expect([long.stoppedBy === 'time' || long.rows === 10_000, long.stoppedBy]).toEqual([
    true,
    expect.stringMatching(/^(rows|time)$/),
  ]);
});

test('does not send back rows of megabytes', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const long = 'x'.repeat(600_000);
  const text = `n,note\n${Array.from({ length: 5 }, (_, n) => `${n},${long}\n`).join('')}`;
  const { body } = await send(url, 'POST', '/api/jobs/preview', uploadForm({ pipeline: 'doubling' }, text));
  expect(body.rows.map(({ input }: { input: object | null }) => input !== null)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
});

test('shows the keys found in JSON lines', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const form = uploadForm({ pipeline: 'doubling' }, '{"n":1}\n{"n":2,"extra":true}\n', 'rows.jsonl');
  const { body } = await send(url, 'POST', '/api/jobs/preview', form);
  expect(body).toMatchObject({
    detected: { format: 'jsonl' },
    columns: [
      { header: 'n', field: 'n', match: 'sure' },
      { header: 'extra', field: 'extra', match: null },
    ],
    missing: [{ field: 'note', required: false }],
  });
});

test('returns a file of a source after the preview', async () => {
  const inbox = join(folder, 'inbox');
  rmSync(inbox, { recursive: true, force: true });
  mkdirSync(inbox);
  writeFileSync(join(inbox, 'a.csv'), csvOf(2));
  const sources = parseSources([
    { name: 'inbox', kind: 'folder', path: inbox, pipeline: 'doubling', stableMs: 0 },
  ]);
  const { url } = await startTestApi(database.url, { pipelines, sources });
  const ask = { pipeline: 'doubling', source: { name: 'inbox', path: 'a.csv' } };
  for (let round = 0; round < 2; round += 1) {
    const { status, body } = await send(url, 'POST', '/api/jobs/preview', ask);
    expect(status).toBe(200);
    expect(body.looked.rows).toBe(2);
  }
  expect(readdirSync(inbox)).toContain('a.csv');
  expect(await database.query('select file_id from source_files')).toEqual([]);
});

test.each([
  ['no file and no source', {}, 400, 'REQUEST_INVALID'],
  ['an unknown source', { source: { name: 'nothing', path: 'a' } }, 404, 'SOURCE_NOT_FOUND'],
])('%s is refused', async (_, body, status, code) => {
  const { url } = await startTestApi(database.url, { pipelines });
  const answer = await send(url, 'POST', '/api/jobs/preview', body);
  expect([answer.status, answer.body.code]).toEqual([status, code]);
});

test('refuses an unreadable file with the reason', async () => {
  const { url } = await startTestApi(database.url, { pipelines });
  const binary = new FormData();
  binary.append('file', new Blob([new Uint8Array([0, 1, 2, 3, 0, 255, 254])]), 'rows.bin');
  const { status, body } = await send(url, 'POST', '/api/jobs/preview', binary);
  expect([status, body.code]).toEqual([415, 'FILE_UNSUPPORTED']);
});

/** No other test uses threads with this limit, so a new thread is started instead of reusing an idle one. */
let ownMemoryMb = 301;

/**
 * Resolves with the thread that is about to send this answer. The server never gets it, so the file keeps its thread.
 */
function threadAtWork(answer: string, memoryMb: number): Promise<Worker> {
  return new Promise((resolve) => {
    const onWorker = (thread: Worker): void => {
      if (thread.resourceLimits?.maxOldGenerationSizeMb !== memoryMb) return;
      process.off('worker', onWorker);
      const emit = thread.emit.bind(thread);
      thread.emit = (event: string, ...details: unknown[]): boolean => {
        const [message] = details as [{ kind?: string }?];
        if (event !== 'message' || message?.kind !== answer) return emit(event, ...details);
        resolve(thread);
        return true;
      };
    };
    process.on('worker', onWorker);
  });
}

test.each([
  ['while its format is looked for', 'sniffed'],
  ['while it is opened', 'opened'],
])('a client that disconnects ends the thread of its file %s', async (_, answer) => {
  ownMemoryMb += 1;
  const { url } = await startTestApi(database.url, { pipelines, settings: { xlsxMemoryMb: ownMemoryMb } });
  const atWork = threadAtWork(answer, ownMemoryMb);
  const client = new AbortController();
  const body = uploadForm({ pipeline: 'doubling' }, csvOf(10));
  const asked = fetch(`${url}/api/jobs/preview`, { method: 'POST', body, signal: client.signal });
  const thread = await atWork;
  const ended = once(thread, 'exit');
  client.abort();
  await expect(asked).rejects.toThrow('aborted');
  await ended;
  const { status } = await send(url, 'POST', '/api/jobs/preview', uploadForm({}, csvOf(10)));
  expect(status).toBe(200);
});

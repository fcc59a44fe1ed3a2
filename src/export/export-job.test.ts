import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { readXlsx } from 'hucre/xlsx';
import { describe, expect, it } from 'vitest';
import { jobWithItems } from '../../test/support/job-factory.ts';
import { seedResultColumns, seedResults } from '../../test/support/seed-results.ts';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { cellText } from '../core/files/export-columns.ts';
import type { CsvDialect, DetectedFormat } from '../core/files/file-format.ts';
import { unguard } from '../core/files/formula-guard.ts';
import type { OutputFormat } from '../core/files/output-format.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { newId } from '../platform/random.ts';
import { type ExportRequest, exportJob } from './export-job.ts';

const database = useTestDatabase();
let opened: EngineContext | undefined;

/** One database for the whole file. */
function context(): EngineContext {
  opened ??= database.context();
  return opened;
}

async function bytesOf(request: Omit<ExportRequest, 'pageRows'> & { pageRows?: number }): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of exportJob(context().db, { pageRows: 50, ...request })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function textOf(request: Parameters<typeof bytesOf>[0]): Promise<string> {
  return (await bytesOf(request)).toString();
}

/** Creates the job of a file with these rows, as ingest does. */
async function jobOfFile(
  headers: string[],
  rows: string[][],
  detected: Partial<DetectedFormat> = {},
): Promise<string> {
  const keys = headers.map((header, index) => `${header}_${index}`);
  const jobId = await jobWithItems(context(), {
    items: rows.length,
    input: (n) => Object.fromEntries(keys.map((key, index) => [key, rows[n]![index]])),
  });
  await database.query('update jobs set input_columns = $2, source = $3 where job_id = $1', [
    jobId,
    JSON.stringify(headers.map((header, index) => ({ key: keys[index], header }))),
    JSON.stringify({
      kind: 'file',
      name: 'rows.csv',
      options: {},
      detected: { format: 'csv', warnings: [], ...detected },
    }),
  ]);
  return jobId;
}

describe('exportJob', () => {
  it('has the same cells in CSV, in a workbook and in JSON lines', async () => {
    const rows = Array.from({ length: 130 }, (_, n) => [
      `=row ${n}`,
      n % 3 === 0 ? '' : `a,"b"\n${n}`,
      '007',
    ]);
    const jobId = await jobOfFile(['name', 'status', 'name'], rows);
    await seedResultColumns(database, jobId, ['price', 'name', 'tags', '']);
    await seedResults(
      database,
      jobId,
      rows.slice(0, 120).map((_, seq) =>
        seq % 7 === 0
          ? { seq, status: 'ERROR', errorClass: 'timeout', error: `no answer, ${seq}`, attempt: 3 }
          : {
              seq,
              attempt: 1,
              result: { price: seq / 8, name: `@${seq}`, tags: seq % 2 ? [seq] : null, extra: { seq } },
            },
      ),
    );
    const headers = [
      'name',
      'status',
      'name',
      'price',
      'result_name',
      'tags',
      'more',
      'rowmill_status',
      'error',
      'attempts',
    ];
    const csv = parse(await textOf({ jobId, format: 'csv', raw: true })) as string[][];
    const workbook = await readXlsx(await bytesOf({ jobId, format: 'xlsx' }));
    const lines = (await textOf({ jobId, format: 'jsonl' }))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(csv[0]).toEqual(headers);
    expect(workbook.sheets[0]!.rows[0]).toEqual(headers);
    expect([csv.length, workbook.sheets[0]!.rows.length, lines.length]).toEqual([131, 131, 130]);
    for (const [seq, line] of lines.entries()) {
      const { price, name, tags, ...more } = line.result ?? {};
      const values = [
        ...[line.input.name_0, line.input.status_1, line.input.name_2, price, name, tags],
        ...[line.result ? more : null, line.status, line.error, line.attempts],
      ];
      expect(line.seq).toBe(seq);
      expect(csv[seq + 1]).toEqual(values.map(cellText));
      const cells = headers.map((_, column) => workbook.sheets[0]!.rows[seq + 1]![column] ?? null);
      expect(cells).toEqual(
        values.map((value) =>
          value === null || value === undefined || value === ''
            ? null
            : typeof value === 'object'
              ? cellText(value)
              : value,
        ),
      );
    }
    const escaped = parse(await textOf({ jobId, format: 'csv' })) as string[][];
    expect(escaped[1]![0]).toBe("'=row 0");
    expect(escaped[2]![4]).toBe("'@1");
  });

  it('has the newest result up to the requested generation', async () => {
    const jobId = await jobWithItems(context(), { items: 3 });
    await database.query('update jobs set generation = 2 where job_id = $1', [jobId]);
    await seedResults(database, jobId, [
      { seq: 0, status: 'ERROR', error: 'first' },
      { seq: 1, result: { a: 1 } },
      { seq: 0, generation: 2, result: { a: 2 } },
    ]);
    expect(await textOf({ jobId, format: 'csv', generation: 1 })).toBe(
      'n,a,status,error,attempts\n0,,ERROR,first,1\n1,1,DONE,,1\n2,,PENDING,,\n',
    );
    expect(await textOf({ jobId, format: 'csv' })).toBe(
      'n,a,status,error,attempts\n0,2,DONE,,1\n1,1,DONE,,1\n2,,PENDING,,\n',
    );
    const failed = { jobId, format: 'csv', kind: 'unsuccessful' } as const;
    expect((await textOf({ ...failed, generation: 1 })).split('\n')).toHaveLength(3);
    expect((await textOf(failed)).split('\n')).toHaveLength(2);
  });

  it('starts with a byte order mark on request', async () => {
    const jobId = await jobWithItems(context(), { items: 1 });
    expect((await bytesOf({ jobId, format: 'csv', bom: true })).subarray(0, 4).toString('hex')).toBe(
      'efbbbf6e',
    );
  });

  it('exports rejected rows with line, reason and text', async () => {
    const jobId = await jobWithItems(context(), { items: 1 });
    await database.query(
      `insert into rejected_rows (job_id, ordinal, line, reason, raw)
       select $1, n, n + 2, 'expected 2 cells, got 1', '=a' || n from generate_series(0, 119) as n`,
      [jobId],
    );
    const csv = parse(await textOf({ jobId, format: 'csv', kind: 'rejected' })) as string[][];
    expect(csv).toHaveLength(121);
    expect(csv.slice(0, 2)).toEqual([
      ['line', 'reason', 'raw'],
      ['2', 'expected 2 cells, got 1', "'=a0"],
    ]);
    const lines = (await textOf({ jobId, format: 'jsonl', kind: 'rejected', afterSeq: 118 })).trimEnd();
    expect(JSON.parse(lines)).toEqual({ line: 121, reason: 'expected 2 cells, got 1', raw: '=a119' });
    const { sheets } = await readXlsx(await bytesOf({ jobId, format: 'xlsx', kind: 'rejected' }));
    expect(sheets[0]).toMatchObject({ name: 'Rejected' });
    expect(sheets[0]!.rows[120]).toEqual([121, 'expected 2 cells, got 1', '=a119']);
  });

  it('has a content type, a file name and a row count', async () => {
    const jobId = await jobWithItems(context(), { items: 3 });
    const stream = exportJob(context().db, {
      jobId,
      format: 'jsonl',
      pageRows: 10,
      filter: { seqs: [[1, 3]] },
    });
    expect(stream.contentType).toBe('application/x-ndjson; charset=utf-8');
    expect(await stream.prepare()).toMatchObject({
      fileName: expect.stringMatching(/-results-filtered\.jsonl$/),
      generation: 1,
      headers: ['n', 'status', 'error', 'attempts'],
    });
    expect(stream.rowCount).toBe(0);
    expect(stream.position()).toEqual({ seq: -1, bytes: 0 });
    let bytes = 0;
    for await (const chunk of stream) bytes += chunk.length;
    expect(stream.rowCount).toBe(2);
    expect(stream.position()).toEqual({ seq: 2, bytes });
  });

  it.each<[string, object, string]>([
    ['an unknown format', { format: 'pdf' }, 'EXPORT_INVALID'],
    ['an unknown kind', { kind: 'all' }, 'EXPORT_INVALID'],
    ['an unknown filter', { filter: { color: 'red' } }, 'EXPORT_INVALID'],
    [
      'a status that unsuccessful rows cannot have',
      { kind: 'unsuccessful', filter: { statuses: ['DONE'] } },
      'EXPORT_INVALID',
    ],
    ['a filter of rejected rows', { kind: 'rejected', filter: { search: 'x' } }, 'EXPORT_INVALID'],
    ['a workbook from its middle', { format: 'xlsx', afterSeq: 5 }, 'EXPORT_INVALID'],
    ['pages of no rows', { pageRows: 0 }, 'EXPORT_INVALID'],
    ['an unknown generation', { generation: 2 }, 'EXPORT_INVALID'],
    ['generation 0', { generation: 0 }, 'EXPORT_INVALID'],
    ['an unknown job', { jobId: newId() }, 'JOB_NOT_FOUND'],
  ])('refuses %s', async (_, wrong, code) => {
    const jobId = await jobWithItems(context(), { items: 1 });
    await expect(bytesOf({ jobId, format: 'csv', ...wrong })).rejects.toMatchObject({ code });
  });

  it('holds no transaction and no statement while its consumer pauses', async () => {
    const input = (n: number) => ({ text: createHash('sha512').update(String(n)).digest('base64') });
    const jobId = await jobWithItems(context(), { items: 3000, input });
    const idle = async (): Promise<void> => {
      // The request for the next page may still be in flight: wait until it returns.
      for (;;) {
        const busy = await database.query<{ state: string; xact_start: Date | null }>(
          `select state, xact_start from pg_stat_activity
           where datname = current_database() and application_name = 'test' and (state <> 'idle' or xact_start is not null)`,
        );
        if (busy.length === 0) return;
      }
    };
    for (const format of ['csv', 'jsonl', 'xlsx'] as OutputFormat[]) {
      let chunks = 0;
      for await (const _ of exportJob(context().db, { jobId, format, pageRows: 200 })) {
        chunks += 1;
        await idle();
      }
      expect(chunks).toBeGreaterThan(1);
    }
  });

  it('selects the right cells of columns with a repeated header', async () => {
    const jobId = await jobOfFile(['id', 'name', 'name'], [['1', 'Ada', 'Lovelace']]);
    const columns = ['name', 'id', 'name'];
    expect(await textOf({ jobId, format: 'csv', columns })).toBe('name,id,name\nAda,1,Lovelace\n');
    expect(await textOf({ jobId, format: 'csv', columns: ['id', 'id'] })).toBe('id,id\n1,1\n');
  });

  it('resumes after any chunk with the same bytes', async () => {
    const jobId = await jobWithItems(context(), {
      items: 4000,
      input: (n) => ({ text: `"line\n${n}" ü`.repeat(1 + (n % 20)), n }),
    });
    await seedResults(
      database,
      jobId,
      Array.from({ length: 4000 }, (_, seq) => ({ seq, result: { r: seq * 2 } })),
    );
    for (const format of ['csv', 'jsonl'] as const) {
      for (const filter of [{}, { search: '7' }]) {
        const whole = await bytesOf({ jobId, format, filter });
        await fc.assert(
          fc.asyncProperty(
            fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
            fc.integer({ min: 200, max: 3000 }),
            async (cuts, pageRows) => {
              let kept = Buffer.alloc(0);
              let afterSeq = -1;
              for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
                const stream = exportJob(context().db, {
                  jobId,
                  format,
                  filter,
                  pageRows,
                  afterSeq,
                });
                const began = kept.length;
                let chunks = 0;
                for await (const chunk of stream) {
                  kept = Buffer.concat([kept, chunk]);
                  chunks += 1;
                  if (chunks === cut) break;
                }
                expect(kept.length - began).toBe(stream.position().bytes);
                afterSeq = stream.position().seq;
              }
              expect(kept.equals(whole)).toBe(true);
            },
          ),
          { numRuns: 5 },
        );
      }
    }
  });

  it('needs no more memory for 200,000 rows than for a few', async () => {
    const items = 200_000;
    const jobId = await jobWithItems(context(), { items: 0 });
    await database.query(
      `insert into items (job_id, seq, input_bytes, input)
       select $1, n, 130, jsonb_build_object('sku', 'SKU-' || n, 'title', 'Desk lamp number ' || n, 'note', repeat('x', 80))
       from generate_series(0, $2::int - 1) as n`,
      [jobId, items],
    );
    await database.query('update jobs set item_count = $2 where job_id = $1', [jobId, items]);
    const { db } = context();
    const before = process.memoryUsage().rss;
    let peak = 0;
    const stream = exportJob(db, { jobId, format: 'csv', pageRows: 2000 });
    for await (const _ of stream) peak = Math.max(peak, process.memoryUsage().rss);
    expect(stream.rowCount).toBe(items);
    expect(stream.position().bytes).toBeGreaterThan(20_000_000);
    expect((peak - before) / 1_000_000).toBeLessThan(150);
  });
});

describe('unsuccessful rows', () => {
  const HOSTILE = [
    '',
    '=1+1',
    'a"b',
    "it's",
    'x,y;z|w',
    'back\\slash',
    'ümläut 😀',
    ' blank ',
    '0012',
    '-5',
    'tab\there',
    'two\nlines',
  ];
  const dialect = (changes: Partial<CsvDialect>): CsvDialect => ({
    encoding: 'utf-8',
    bom: false,
    delimiter: ',',
    quote: '"',
    escape: '"',
    lineEnd: '\n',
    header: true,
    skipLines: 0,
    ...changes,
  });

  it.each<[string, CsvDialect]>([
    ['commas', dialect({})],
    ['semicolons, CRLF and a byte order mark', dialect({ delimiter: ';', lineEnd: '\r\n', bom: true })],
    ['tabs and no header', dialect({ delimiter: '\t', header: false })],
    ['single quotes', dialect({ quote: "'", escape: "'" })],
    ['a backslash as escape', dialect({ escape: '\\', delimiter: '|' })],
    ['two characters between cells', dialect({ delimiter: '||' })],
    ['carriage returns', dialect({ lineEnd: '\r' })],
    ['another encoding', dialect({ encoding: 'windows-1252', delimiter: ';' })],
  ])('are exported in the dialect of their file, cell by cell: %s', async (_, csv) => {
    const headers = ['id', '=header', 'id', 'x"y'];
    const rows = HOSTILE.map((cell, n) => [String(n), cell, HOSTILE[(n * 5 + 1) % HOSTILE.length]!, 'z']);
    const jobId = await jobOfFile(headers, rows, { csv });
    await seedResults(
      database,
      jobId,
      rows.map((_row, seq) =>
        seq % 3 === 0
          ? { seq, result: { fine: true } }
          : {
              seq,
              status: seq % 3 === 1 ? 'ERROR' : 'NOT_FOUND',
              errorClass: 'timeout',
              error: 'no, "answer"\n',
              attempt: 2,
            },
      ),
    );
    const bytes = await bytesOf({ jobId, format: 'csv', kind: 'unsuccessful' });
    expect(bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]))).toBe(
      csv.bom || csv.encoding !== 'utf-8',
    );
    const guarded = parse(bytes, {
      bom: true,
      delimiter: csv.delimiter,
      quote: csv.quote,
      escape: csv.escape,
      record_delimiter: csv.lineEnd,
    }) as string[][];
    expect(guarded.flat()).toContain("'=1+1");
    expect(guarded.flat()).not.toContain('=1+1');
    const read = guarded.map((row) => row.map(unguard));
    const added = ['rowmill_status', 'rowmill_error', 'rowmill_error_class', 'rowmill_attempts'];
    if (csv.header) expect(read.shift()).toEqual([...headers, ...added]);
    expect(read).toEqual(
      rows.flatMap((row, seq) =>
        seq % 3 === 0
          ? []
          : [[...row, seq % 3 === 1 ? 'ERROR' : 'NOT_FOUND', 'no, "answer"\n', 'timeout', '2']],
      ),
    );
  });

  it('include the lines before the header, so that the same options read the file', async () => {
    const jobId = await jobOfFile(['a'], [['1']], { csv: dialect({ skipLines: 2 }), preamble: 'Report' });
    await seedResults(database, jobId, [{ seq: 0, status: 'ERROR', errorClass: 'permanent', error: 'no' }]);
    expect(await textOf({ jobId, format: 'csv', kind: 'unsuccessful' })).toBe(
      'Report\n\na,rowmill_status,rowmill_error,rowmill_error_class,rowmill_attempts\n1,ERROR,no,permanent,1\n',
    );
  });

  it('of items without a file are plain CSV, guarded against formulas', async () => {
    const jobId = await jobWithItems(context(), { items: 1, input: () => ({ a: '=1+1', b: -2 }) });
    await seedResults(database, jobId, [
      { seq: 0, status: 'NOT_FOUND', errorClass: 'not_found', error: '-' },
    ]);
    expect(await textOf({ jobId, format: 'csv', kind: 'unsuccessful' })).toBe(
      'a,b,rowmill_status,rowmill_error,rowmill_error_class,rowmill_attempts\n"\'=1+1",-2,NOT_FOUND,"\'-",not_found,1\n',
    );
  });

  it('of a workbook are text in a workbook, and those of JSON are objects with more keys', async () => {
    const jobId = await jobOfFile(
      ['a', 'b'],
      [
        ['007', '=1'],
        ['1', '2'],
      ],
      { format: 'xlsx' },
    );
    await seedResults(database, jobId, [
      { seq: 0, status: 'ERROR', errorClass: 'permanent', error: 'no' },
      { seq: 1, result: {} },
    ]);
    const { sheets } = await readXlsx(await bytesOf({ jobId, format: 'xlsx', kind: 'unsuccessful' }));
    expect(sheets[0]!.rows).toEqual([
      ['a', 'b', 'rowmill_status', 'rowmill_error', 'rowmill_error_class', 'rowmill_attempts'],
      ['007', '=1', 'ERROR', 'no', 'permanent', 1],
    ]);
    const line = await textOf({ jobId, format: 'jsonl', kind: 'unsuccessful' });
    expect(JSON.parse(line)).toEqual({
      a_0: '007',
      b_1: '=1',
      rowmill_status: 'ERROR',
      rowmill_error: 'no',
      rowmill_error_class: 'permanent',
      rowmill_attempts: 1,
    });
  });
});

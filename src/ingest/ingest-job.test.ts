// Ingests files on a real PostgreSQL: stored, rejected and refused rows, and files that are submitted again,
// corrected or cut off.
import { readXlsx } from 'hucre/xlsx';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkInvariants } from '../../test/support/invariants.ts';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { writeWorkbook } from '../../test/support/workbook-writer.ts';
import type { RowmillError } from '../core/errors/rowmill-error.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { sweep } from '../engine/services/sweeper.ts';
import { exportJob } from '../export/export-job.ts';
import { newId } from '../platform/random.ts';
import type { Settings } from '../platform/settings.ts';
import { claimIngest } from '../store/commands/jobs/ingest-lease.ts';
import { findAbandonedIngests } from '../store/views/jobs/find-abandoned-ingests.ts';
import { readLine } from '../store/views/items/read-line.ts';
import { readJob } from '../store/views/jobs/read-job.ts';
import { definePipeline } from '../pipeline/define-pipeline.ts';
import { ingestJob } from './ingest-job.ts';
import { resumeIngests } from './ingest-resumer.ts';
import { type SubmitFileOptions, submitFile } from './submit-file.ts';

const database = useTestDatabase();

const plain = definePipeline({ name: 'plain', phases: [{ name: 'only', run: () => null }] });
const products = definePipeline({
  name: 'products',
  input: z.object({ sku: z.string().min(1), quantity: z.coerce.number().int() }),
  key: 'sku',
  summary: ['sku'],
  phases: [{ name: 'only', run: () => null }],
});

async function* chunks(text: string | Buffer, size = 7): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function submit(
  context: EngineContext,
  pipeline: typeof plain,
  text: string | Buffer,
  options: SubmitFileOptions = {},
): Promise<string> {
  const file = {
    kind: 'upload',
    name: 'rows.csv',
    bytes: chunks(text),
    expectedBytes: Buffer.byteLength(text),
  };
  const { jobId } = await submitFile(context, pipeline, file, options);
  return jobId;
}

async function ingest(
  text: string | Buffer,
  pipeline = plain,
  options: SubmitFileOptions = {},
  settings: Partial<Settings> = {},
): Promise<string> {
  const context = database.context(settings);
  const jobId = await submit(context, pipeline, text, options);
  await ingestJob(context, jobId, pipeline);
  return jobId;
}

const itemsOf = (jobId: string) =>
  database.query<{
    input: Record<string, unknown>;
    item_key: string | null;
    summary: string;
    repair: string | null;
  }>('select input, item_key, summary, repair from items where job_id = $1 order by seq', [jobId]);
const resultsOf = (jobId: string) =>
  database.query(
    'select seq::int, status::text, error_class, error, attempt from results where job_id = $1 order by seq',
    [jobId],
  );
const rejectedOf = (jobId: string) =>
  database.query('select line::int, reason, raw from rejected_rows where job_id = $1 order by ordinal', [
    jobId,
  ]);
const queuedOf = async (jobId: string) =>
  (
    await database.query<{ items: string }>(
      'select items::text from spans where job_id = $1 order by span_id',
      [jobId],
    )
  ).map((row) => row.items);
let reader: EngineContext | null = null;
const jobOf = async (jobId: string) => {
  reader ??= database.context();
  return (await readJob(reader.db, jobId))!;
};

async function checkJob(jobId: string): Promise<void> {
  const query = async ({ text, values }: { text: string; values: unknown[] }) => ({
    rows: await database.query(text, values),
  });
  expect(await checkInvariants({ query } as never, jobId)).toEqual([]);
}

async function refusal(work: Promise<unknown>): Promise<RowmillError> {
  return work.then(
    () => {
      throw new Error('expected a refusal');
    },
    (error) => error as RowmillError,
  );
}

describe('a file', () => {
  it('has the line of each item, also behind rejected lines, repeated keys and cells of several lines', async () => {
    const text = 'sku,quantity\na,1\nb,2\nbroken\n"c\nx\ny",3\na,9\nd,4\ne,5\n';
    // Two rows per batch: a run of lines ends with its batch.
    const jobId = await ingest(text, products, {}, { ingestMinRows: 2, ingestMaxRows: 2 });
    const { db } = database.context();
    const lines = await Promise.all([0, 1, 2, 3, 4, 5].map((seq) => readLine(db, jobId, seq)));
    expect(lines).toEqual([2, 3, 5, 9, 10, null]);
  });

  it('becomes items in order, with columns, report and checksum, and the job is sealed', async () => {
    const jobId = await ingest('Name,Größe\nAnna,1\n"Bo, b",007\n');
    const items = await itemsOf(jobId);
    expect(items.map((item) => item.input)).toEqual([
      { Name: 'Anna', Größe: '1' },
      { Name: 'Bo, b', Größe: '007' },
    ]);
    expect(items.map((item) => item.summary)).toEqual(['Anna · 1', 'Bo, b · 007']);
    const job = await jobOf(jobId);
    expect(job).toMatchObject({
      state: 'QUEUED',
      itemCount: 2,
      inputColumns: [
        { key: 'Name', header: 'Name' },
        { key: 'Größe', header: 'Größe' },
      ],
      ingestReport: { read: 2, stored: 2, rejected: 0, repaired: 0, invalid: 0, takenOver: 0 },
      ingestLeaseMs: null,
    });
    expect(job.inputChecksum).toMatch(/^[0-9a-f]{64}$/);
    expect(job.source).toMatchObject({ name: 'rows.csv', bytes: 32, detected: { format: 'csv' } });
    expect(await queuedOf(jobId)).toEqual(['{[0,2)}']);
    await checkJob(jobId);
  });

  it('has its rejected rows stored beside its items, with line, reason and text', async () => {
    const jobId = await ingest('a,b\n1,2\n3\n4,5\n6,7,8\n9,10\n');
    expect((await itemsOf(jobId)).map((item) => item.input.a)).toEqual(['1', '4', '9']);
    expect(await rejectedOf(jobId)).toEqual([
      { line: 3, reason: expect.stringContaining('expected 2 cells'), raw: '3' },
      { line: 5, reason: expect.stringContaining('expected 2 cells'), raw: '6,7,8' },
    ]);
    expect((await jobOf(jobId)).ingestReport).toMatchObject({ read: 5, stored: 3, rejected: 2 });
  });

  it('with rows that the schema refuses has them as errors immediately, and the other rows wait', async () => {
    const jobId = await ingest('sku,quantity\na,1\nb,x\nc,3\n,4\n', products);
    expect(await resultsOf(jobId)).toEqual([
      {
        seq: 1,
        status: 'ERROR',
        error_class: 'invalid',
        error: expect.stringContaining('quantity'),
        attempt: 0,
      },
      { seq: 3, status: 'ERROR', error_class: 'invalid', error: expect.stringContaining('sku'), attempt: 0 },
    ]);
    expect(await queuedOf(jobId)).toEqual(['{[0,1),[2,3)}']);
    expect((await jobOf(jobId)).ingestReport).toMatchObject({ stored: 4, invalid: 2 });
    await checkJob(jobId);
  });

  it('whose rows are all refused by the schema completes its job', async () => {
    const jobId = await ingest('sku,quantity\na,x\nb,y\n', products);
    expect((await jobOf(jobId)).state).toBe('DONE');
    await checkJob(jobId);
  });

  it('without rows completes its job', async () => {
    const jobId = await ingest('a,b\n');
    expect(await jobOf(jobId)).toMatchObject({ state: 'DONE', itemCount: 0 });
    await checkJob(jobId);
  });

  it('keeps the emoji beside a NUL, which is replaced and marked', async () => {
    const jobId = await ingest('a,b\nx\0😀,1\ny,2\n');
    const items = await itemsOf(jobId);
    expect(items.map((item) => item.input.a)).toEqual(['x\ufffd😀', 'y']);
    expect(items.map((item) => item.repair)).toEqual([expect.stringContaining('U+FFFD'), null]);
    expect((await jobOf(jobId)).ingestReport.repaired).toBe(1);
  });

  it('may have hostile headers, and they are keys like any other', async () => {
    const jobId = await ingest('__proto__,constructor,a,a,\n1,2,3,4,5\n');
    expect(await database.query('select input::text as text from items where job_id = $1', [jobId])).toEqual([
      { text: '{"a": "3", "a_2": "4", "column_5": "5", "__proto__": "1", "constructor": "2"}' },
    ]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('is mapped to the fields of the pipeline by name', async () => {
    const jobId = await ingest('Stück,SKU No.,x\n2,a1,y\n', products, {
      mapping: { quantity: 'Stück', sku: 'SKU No.' },
    });
    const [item] = await itemsOf(jobId);
    expect(item).toMatchObject({
      input: { quantity: '2', sku: 'a1', x: 'y' },
      item_key: 'a1',
      summary: 'a1',
    });
    expect((await jobOf(jobId)).inputColumns).toEqual([
      { key: 'quantity', header: 'Stück' },
      { key: 'sku', header: 'SKU No.' },
      { key: 'x', header: 'x' },
    ]);
  });

  it('that lacks a column is refused before there is a job', async () => {
    const error = await refusal(submit(database.context(), products, 'sku,quantiy\na,1\n'));
    expect(error).toMatchObject({
      code: 'COLUMNS_MISSING',
      message: expect.stringContaining('did you mean "quantiy"?'),
    });
    expect(
      await database.query("select 1 from jobs where source ->> 'name' = 'rows.csv' and name = 'quantiy'"),
    ).toEqual([]);
  });

  it('of JSON lines keeps types, and its columns are found while reading', async () => {
    const jobId = await ingest('{"a":1,"b":[true]}\n{"c":"x","a":2.5,"__proto__":{"z":1}}\nnot json\n');
    expect(
      await database.query('select input::text as text from items where job_id = $1 order by seq', [jobId]),
    ).toEqual([{ text: '{"a": 1, "b": [true]}' }, { text: '{"a": 2.5, "c": "x", "__proto__": {"z": 1}}' }]);
    expect((await jobOf(jobId)).inputColumns.map((column) => column.key)).toEqual([
      'a',
      'b',
      'c',
      '__proto__',
    ]);
    expect(await rejectedOf(jobId)).toMatchObject([{ line: 3, raw: 'not json' }]);
  });

  it('with too many rejected rows fails the job with the reason', async () => {
    const text = `a,b\n${'1,2\n'.repeat(40)}${'3\n'.repeat(12)}`;
    const context = database.context({ ingestMaxRejectedRows: 10 });
    const jobId = await submit(context, plain, text);
    expect((await refusal(ingestJob(context, jobId, plain))).code).toBe('FILE_INVALID');
    expect(await jobOf(jobId)).toMatchObject({
      state: 'FAILED',
      lastError: expect.stringContaining('ingestMaxRejectedRows'),
      ingestLeaseMs: null,
    });
    expect(await queuedOf(jobId)).toEqual([]);
  });

  it('that is incomplete is refused, and no job is created', async () => {
    const context = database.context();
    const before = await database.query('select count(*)::int from jobs');
    const bytes = chunks('a,b\n1,2\n');
    const cut = submitFile(context, plain, { kind: 'upload', name: 'cut.csv', bytes, expectedBytes: 100 });
    expect((await refusal(cut)).code).toBe('FILE_INCOMPLETE');
    async function* breaking(): AsyncGenerator<Buffer> {
      yield Buffer.from('a,b\n');
      throw new Error('connection reset');
    }
    const broken = submitFile(context, plain, { kind: 'upload', name: 'broken.csv', bytes: breaking() });
    expect((await refusal(broken)).message).toContain('connection reset');
    expect(await database.query('select count(*)::int from jobs')).toEqual(before);
  });

  it('over the limit is refused while it arrives', async () => {
    const context = database.context({ uploadMaxBytes: 10 });
    expect(await refusal(submit(context, plain, 'a,b\n1,2\n3,4\n'))).toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: expect.stringContaining('uploadMaxBytes'),
    });
  });
});

describe('the same file again', () => {
  it('is the same job for the same owner, even if both arrive at the same time', async () => {
    const context = database.context();
    const text = 'a,b\nsame,1\n';
    const [first, second] = await Promise.all([submit(context, plain, text), submit(context, plain, text)]);
    expect(second).toBe(first);
    await ingestJob(context, first!, plain);
    expect(await submit(context, plain, text)).toBe(first);
    expect(await ingestJob(context, first!, plain)).toBe(true);
    expect(await itemsOf(first!)).toHaveLength(1);
  });

  it('is another job for another owner, with other parameters or format options, or with again', async () => {
    const context = database.context();
    const text = 'a;b\nother,1\n';
    const ids = await Promise.all([
      submit(context, plain, text),
      submit(context, plain, text, { ownerId: 'somebody' }),
      submit(context, plain, text, { params: { x: 1 } }),
      submit(context, plain, text, { format: { delimiter: ',' } }),
      submit(context, plain, text, { again: true }),
    ]);
    expect(new Set(ids).size).toBe(5);
  });
});

describe('a corrected file', () => {
  const first = 'sku,quantity,name\na,1,A\nb,x,B\nc,3,C\nd,4,D\n';
  const corrected = 'sku,quantity,name\nd,4,D\nb,2,B\na,1,A\nc,33,C\ne,5,E\n';

  async function finished(text: string): Promise<string> {
    const context = database.context();
    const jobId = await ingest(text, products);
    const { claimItems } = await import('../store/commands/spans/claim-items.ts');
    const { flushOutcomes } = await import('../engine/flush/flush-outcomes.ts');
    const { finalizeIfComplete } = await import('../engine/jobs/finalize-if-complete.ts');
    const { claimRequest } = await import('../../test/support/job-factory.ts');
    const claim = (await claimItems(context.db, { ...claimRequest(jobId), suspects: false }))!;
    const outcomes = claim.items.map(({ seq }) => ({
      seq,
      kind: 'terminal' as const,
      status: seq === 3 ? ('NOT_FOUND' as const) : ('DONE' as const),
      json: seq === 3 ? null : JSON.stringify({ price: seq * 10 }),
      failure: seq === 3 ? { class: 'not_found' as const, message: 'no D', retryAfterMs: null } : null,
      delayMs: 0,
      handlerMs: 1,
      columns: ['price'],
    }));
    const { spanId, token, attempt, failures, crashes, priority, generation, phase } = claim;
    const lease = { spanId, token, attempt, failures, crashes, priority, outcomes };
    const flushId = crypto.randomUUID();
    await flushOutcomes(
      context,
      { jobId, generation, phase, workerId: flushId, flushId, leases: [lease] },
      false,
    );
    await finalizeIfComplete(context, jobId);
    expect((await jobOf(jobId)).state).toBe('DONE');
    return jobId;
  }

  it('takes over the results of rows that did not change, and runs the others', async () => {
    const oldJob = await finished(first);
    const jobId = await ingest(corrected, products, { updatesJobId: oldJob });
    expect(
      await database.query(
        'select seq::int, status::text, result, error from results where job_id = $1 order by seq',
        [jobId],
      ),
    ).toEqual([
      { seq: 0, status: 'NOT_FOUND', result: null, error: 'no D' },
      { seq: 2, status: 'DONE', result: { price: 0 }, error: null },
    ]);
    expect(await queuedOf(jobId)).toEqual(['{[1,2),[3,5)}']);
    expect((await jobOf(jobId)).ingestReport).toMatchObject({ stored: 5, takenOver: 2, invalid: 0 });
    expect(await database.query('select name from result_columns where job_id = $1', [jobId])).toEqual([
      { name: 'price' },
    ]);
    await checkJob(jobId);
  });

  it('is refused for a job that is running, or has another key or pipeline', async () => {
    const running = await ingest('sku,quantity\nrunning,1\n', products);
    const options = { updatesJobId: running };
    expect((await refusal(ingest(corrected, products, options))).message).toContain('to be finished');
    expect((await refusal(ingest(corrected, plain, options))).message).toContain(
      'belongs to pipeline products',
    );
    expect((await refusal(ingest(corrected, products, { ...options, key: ['name'] }))).message).toContain(
      'same key',
    );
    const nobody = crypto.randomUUID();
    expect((await refusal(ingest(corrected, products, { updatesJobId: nobody }))).code).toBe('JOB_NOT_FOUND');
  });

  it('may contain a key once, as any file: later rows with it are rejected, with the first position', async () => {
    const rows = Array.from({ length: 200 }, (_, n) => `k${n},${n}`);
    rows.splice(150, 0, 'k3,9');
    rows.splice(5, 0, 'k4,9');
    const jobId = await ingest(`sku,quantity\n${rows.join('\n')}\n`, products, {}, { ingestMinRows: 64 });
    expect(await rejectedOf(jobId)).toEqual([
      { line: 7, reason: 'the key "k4" already appears on line 6', raw: expect.any(String) },
      { line: 153, reason: 'the key "k3" already appears in row 4', raw: expect.any(String) },
    ]);
    expect((await jobOf(jobId)).itemCount).toBe(200);
  });
});

describe('an ingest that was interrupted', () => {
  const text = `n,name\n${Array.from({ length: 500 }, (_, n) => (n % 100 === 7 ? `${n}\n` : `${n},row ${n}\n`)).join('')}`;

  async function interrupted(after: number): Promise<{ jobId: string; context: EngineContext }> {
    const context = database.context({ ingestMinRows: 20, ingestMaxRows: 20, ingestLeaseMs: 200 });
    const jobId = await submit(context, plain, text, { again: true });
    const stop = new AbortController();
    let batches = 0;
    const off = context.events.on('items.added', () => {
      batches += 1;
      if (batches === after) stop.abort();
    });
    expect(await ingestJob(context, jobId, plain, stop.signal)).toBe(false);
    off();
    expect((await jobOf(jobId)).sealedAt).toBeNull();
    return { jobId, context };
  }

  it('resumes at its checkpoint and gives the same items, rejected rows and checksum', async () => {
    const whole = await ingest(text, plain, { again: true });
    const { jobId, context } = await interrupted(5);
    const stored = (await jobOf(jobId)).itemCount;
    expect(stored).toBeGreaterThan(80);
    expect(stored).toBeLessThan(400);
    expect(await ingestJob(context, jobId, plain)).toBe(true);
    expect(await itemsOf(jobId)).toEqual(await itemsOf(whole));
    expect(await rejectedOf(jobId)).toEqual(await rejectedOf(whole));
    const [a, b] = [await jobOf(jobId), await jobOf(whole)];
    expect(a.inputChecksum).toBe(b.inputChecksum);
    expect(a.ingestReport).toEqual(b.ingestReport);
    await checkJob(jobId);
  });

  it('is resumed by any process that knows the pipeline', async () => {
    const { jobId, context } = await interrupted(3);
    await database.query("update jobs set created_at = now() - interval '1 minute' where job_id = $1", [
      jobId,
    ]);
    expect(await resumeIngests(context, [products])).toBe(0);
    expect(await resumeIngests(context, [products, plain])).toBeGreaterThan(0);
    expect(await jobOf(jobId)).toMatchObject({ itemCount: 495, state: 'QUEUED' });
  });

  it('is reported by the sweep, unless it is young or a process reads it', async () => {
    const { jobId, context } = await interrupted(3);
    const isReported = async (): Promise<boolean> => {
      let reported = false;
      await sweep(context, { onAbandonedIngests: () => (reported = true) });
      return reported;
    };
    await database.query("update jobs set created_at = now() + interval '1 minute' where sealed_at is null");
    expect(await isReported()).toBe(false);
    await database.query("update jobs set created_at = now() - interval '1 minute' where job_id = $1", [
      jobId,
    ]);
    expect(await isReported()).toBe(true);
    await claimIngest(context.db, jobId, newId(), 60_000);
    expect(await isReported()).toBe(false);
  });

  it('is found although ten older ones cannot be read', async () => {
    const context = database.context();
    const many = definePipeline({ name: 'many', phases: [{ name: 'only', run: () => null }] });
    const jobIds: string[] = [];
    for (let n = 0; n < 15; n += 1) jobIds.push(await submit(context, many, `n\n${n}\n`));
    const found = new Set<string>();
    for (let looks = 0; looks < 60; looks += 1)
      for (const { jobId } of await findAbandonedIngests(context.db, ['many'], 0)) found.add(jobId);
    expect([...found].sort()).toEqual(jobIds.sort());
  });

  it('is left alone while another process reads the file', async () => {
    const { jobId, context } = await interrupted(3);
    await database.query(
      "update jobs set ingest_token = gen_random_uuid(), ingest_expires_at = now() + interval '1 minute' where job_id = $1",
      [jobId],
    );
    expect((await refusal(ingestJob(context, jobId, plain))).code).toBe('JOB_CONFLICT');
  });

  it('fails with the reason if the stored file is not the one it started with', async () => {
    const { jobId, context } = await interrupted(3);
    const { blobKey } = (await jobOf(jobId)).source!;
    await context.blobs.put(blobKey, chunks(text.replace('row 3', 'row 4'), 1000));
    expect((await refusal(ingestJob(context, jobId, plain))).message).toContain('does not begin with');
    expect((await jobOf(jobId)).state).toBe('FAILED');
    await context.blobs.put(blobKey, chunks(text, 1000));
  });

  it('stays open while the blob store is down, and fails with the reason if the file is gone from it', async () => {
    const { jobId, context } = await interrupted(3);
    const { blobKey } = (await jobOf(jobId)).source!;
    await context.blobs.delete(blobKey);
    expect((await refusal(ingestJob(context, jobId, plain))).code).toBe('BLOB_NOT_FOUND');
    expect(await jobOf(jobId)).toMatchObject({
      state: 'FAILED',
      lastError: expect.stringContaining(blobKey),
    });
  });

  it('stores nothing from a zombie after it was taken over', async () => {
    const { jobId, context } = await interrupted(2);
    const stolen = new Promise<number>((resolve) => {
      const off = context.events.on('items.added', () => {
        off();
        void database
          .query<{ count: number }>(
            'update jobs set ingest_token = gen_random_uuid() where job_id = $1 returning item_count::int as count',
            [jobId],
          )
          .then((rows) => resolve(rows[0]!.count));
      });
    });
    const error = await refusal(ingestJob(context, jobId, plain));
    const countThen = await stolen;
    expect(error.code).toBe('JOB_CONFLICT');
    const { itemCount, ingestReport } = await jobOf(jobId);
    expect(itemCount, 'nothing was stored afterwards').toBe(countThen);
    expect(itemCount).toBe(ingestReport.stored);
    expect(await itemsOf(jobId)).toHaveLength(itemCount);
  });
});

describe('a workbook', () => {
  const STYLES =
    '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="46"/></cellXfs></styleSheet>';
  const text = (at: string, value: string) => `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;
  const typed = (at: string, value: number | string, more = '') => `<c r="${at}"${more}><v>${value}</v></c>`;
  const head = ['n', 'day', 'moment', 'time', 'flag', 'code'].map((name, i) => text(`${'ABCDEF'[i]}3`, name));
  const WORKBOOK = writeWorkbook({
    styles: STYLES,
    date1904: true,
    sheets: [
      {
        name: 'Prices',
        data: `<row r="1">${text('A1', 'Prices of 2024')}</row><row r="3">${head.join('')}</row><row r="4">${[
          typed('A4', 0.1),
          typed('B4', 43860, ' s="1"'),
          typed('C4', '43860.396180555556', ' s="2"'),
          typed('D4', 1.5, ' s="3"'),
          typed('E4', 1, ' t="b"'),
          text('F4', '00123'),
        ].join('')}</row><row r="5">${[
          text('A5', '42'),
          text('B5', '2024-03-01'),
          text('C5', 'soon'),
          text('D5', '=1+1'),
          text('E5', 'TRUE'),
          typed('F5', 7),
        ].join('')}</row><row r="6">${[
          typed('A6', '12345678901234567'),
          typed('B6', 43861, ' s="1"'),
          typed('D6', 0.25, ' s="3"'),
          typed('E6', 0, ' t="b"'),
          text('F6', '1e5'),
        ].join('')}</row>`,
      },
    ],
  });

  it('is exported with its types: numbers, dates and booleans, and texts that look like them as text', async () => {
    const jobId = await ingest(WORKBOOK);
    expect((await itemsOf(jobId)).map(({ input }) => input)[0]).toEqual({
      n: '0.1',
      day: '2024-01-31',
      moment: '2024-01-31T09:30:30',
      time: '36:00:00',
      flag: 'TRUE',
      code: '00123',
    });
    const chunksOfExport: Buffer[] = [];
    for await (const chunk of exportJob(database.context().db, { jobId, format: 'xlsx', pageRows: 100 }))
      chunksOfExport.push(chunk);
    const { sheets } = await readXlsx(Buffer.concat(chunksOfExport));
    const cells = sheets[0]!.rows.slice(1).map((row) => row.slice(0, 6).map((cell) => cell ?? null));
    expect(cells).toEqual([
      [
        0.1,
        new Date('2024-01-31T00:00:00Z'),
        new Date('2024-01-31T09:30:30Z'),
        expect.anything(),
        true,
        '00123',
      ],
      ['42', '2024-03-01', 'soon', '=1+1', true, 7],
      ['12345678901234567', new Date('2024-02-01T00:00:00Z'), null, expect.anything(), false, '1e5'],
    ]);
    // When Rowmill reads the export, each cell has the same text and type.
    const again = await ingest(Buffer.concat(chunksOfExport), plain);
    const inputs = (await itemsOf(again)).map(({ input }) => input);
    expect(inputs).toMatchObject((await itemsOf(jobId)).map(({ input }) => input));
    const types = async (id: string) => (await jobOf(id)).ingestCheckpoint as { columnTypes: object };
    const { n, day, moment, time, flag, code } = (await types(jobId)).columnTypes as Record<string, object>;
    expect((await types(again)).columnTypes).toMatchObject({ day, moment, time, flag, code });
    expect(n).toEqual({ types: ['number'], texts: ['42'] });
  });
});

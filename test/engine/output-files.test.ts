// The files of a finished job: their content, their agreement with the summary, and the effects of a store that is
// down and of a finalizer that dies or is late.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import type { JobOutput } from '../../src/core/files/output-format.ts';
import { finalizeJob } from '../../src/engine/jobs/finalize-job.ts';
import { collectBlobs } from '../../src/engine/services/blob-collector.ts';
import { definePipeline, notFound, openRowmill, type Rowmill, skip } from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { claimFinalize } from '../../src/store/commands/jobs/finalize-lease.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-outputs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const prices = definePipeline({
  name: 'prices',
  input: z.object({ sku: z.string(), n: z.coerce.number() }),
  phases: [
    {
      name: 'lookup',
      run: ({ sku, n }) => {
        if (n === 2) return notFound('nobody sells it');
        if (n === 3) return skip('too old');
        if (n === 4) throw Object.assign(new Error('no such "thing"'), { status: 400 });
        return n === 5 ? { sku, extra: '=1+1', deep: { a: [1] } } : { sku, price: n * 1.5 };
      },
    },
  ],
});

const CSV = 'SKU;N;Note\nA;1;"x;y"\nB;2;\nC;3;=cmd\nD;4;ümlaut\nE;5;-7\nbroken\nF;not a number;\n';

async function withRowmill<T>(
  settings: Partial<Settings>,
  work: (rowmill: Rowmill) => Promise<T>,
): Promise<T> {
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: { sweepMs: 100, ...settings } });
  try {
    return await work(rowmill);
  } finally {
    await rowmill.close();
  }
}

async function runToEnd(
  rowmill: Rowmill,
  csv = CSV,
  options: { outputs?: readonly JobOutput[] } = {},
): Promise<string> {
  const bytes = (async function* () {
    yield Buffer.from(csv);
  })();
  const { jobId } = await rowmill.submitFile(
    prices,
    { name: 'prices.csv', bytes },
    { again: true, ...options },
  );
  const worker = await rowmill.startWorker([prices]);
  await whenFinished(rowmill, jobId);
  await worker.stop();
  return jobId;
}

async function read(rowmill: Rowmill, key: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of await contextOf(rowmill).blobs.get(key)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function keysUnder(rowmill: Rowmill, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of contextOf(rowmill).blobs.list(prefix)) keys.push(key);
  return keys;
}

test('results, failed rows, rejected rows and summary.json agree with the database and with each other', async () => {
  await withRowmill({ blobStore: join(folder, 'agree') }, async (rowmill) => {
    const jobId = await runToEnd(rowmill);
    const summary = (await rowmill.summary(jobId))!;
    expect(summary.files.map((file) => [file.name, file.rows])).toEqual([
      ['results.csv', 6],
      ['unsuccessful.csv', 3],
      ['rejected.csv', 1],
      ['summary.json', null],
    ]);
    for (const file of summary.files) {
      expect(file.key).toBe(`outputs/${jobId}/g1/a1/${file.name}`);
      await contextOf(rowmill).blobs.verify(file);
    }
    const [results, failed, rejected, summaryFile] = await Promise.all(
      summary.files.map((file) => read(rowmill, file.key)),
    );

    const rows: Record<string, string>[] = parse(results!, { columns: true });
    expect(results!.split('\n')[0]).toBe('SKU,N,Note,sku,extra,price,deep,reason,status,error,attempts');
    expect(rows.map((row) => row.status)).toEqual(['DONE', 'NOT_FOUND', 'SKIPPED', 'ERROR', 'DONE', 'ERROR']);
    expect(rows[0]).toMatchObject({ SKU: 'A', N: '1', Note: 'x;y', price: '1.5', attempts: '1', error: '' });
    expect(rows[2]).toMatchObject({ Note: "'=cmd", reason: 'too old' });
    expect(rows[4]).toMatchObject({ extra: "'=1+1", deep: '{"a":[1]}', price: '' });
    expect(rows[5]).toMatchObject({ attempts: '0', error: expect.stringContaining('n: ') });

    // The rows as the grid shows them.
    const shown = [];
    for await (const row of rowmill.results(jobId)) shown.push(row);
    expect(shown.map((row) => row.status)).toEqual(rows.map((row) => row.status));
    expect(shown.map((row) => row.error ?? '')).toEqual(rows.map((row) => row.error));
    const counts = Object.entries(summary.counts).filter(([, count]) => count > 0);
    for (const [status, count] of counts)
      expect(rows.filter((row) => row.status === status)).toHaveLength(count);

    expect(failed!.split('\n')).toEqual([
      'SKU;N;Note;rowmill_status;rowmill_error;rowmill_error_class;rowmill_attempts',
      'B;2;;NOT_FOUND;nobody sells it;not_found;2',
      'D;4;ümlaut;ERROR;"no such ""thing""";invalid;1',
      expect.stringMatching(/^F;not a number;;ERROR;.*;invalid;0$/),
      '',
    ]);
    expect(rejected).toContain('7,');
    expect(JSON.parse(summaryFile!)).toMatchObject({
      jobId,
      generation: 1,
      total: 6,
      counts: summary.counts,
      ingest: { read: 7, stored: 6, rejected: 1, invalid: 1 },
      files: summary.files.slice(0, 3),
    });
  });
});

test('a job can have a file for each status that occurs, and none for the others', async () => {
  await withRowmill({ blobStore: join(folder, 'by-status') }, async (rowmill) => {
    const outputs = ['csv-by-status', 'jsonl'] as const;
    const jobId = await runToEnd(rowmill, CSV, { outputs });
    const { files } = (await rowmill.summary(jobId))!;
    expect(files.map((file) => [file.name, file.rows])).toEqual([
      ['done.csv', 2],
      ['error.csv', 2],
      ['not_found.csv', 1],
      ['skipped.csv', 1],
      ['results.jsonl', 6],
      ['unsuccessful.csv', 3],
      ['rejected.csv', 1],
      ['summary.json', null],
    ]);
    for (const [at, status] of ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED'].entries()) {
      const rows: Record<string, string>[] = parse(await read(rowmill, files[at]!.key), { columns: true });
      expect(rows.map((row) => row.status)).toEqual(rows.map(() => status));
      expect(rows).toHaveLength(files[at]!.rows!);
    }
  });
});

test('failed rows can be corrected and submitted as they are', async () => {
  await withRowmill({ blobStore: join(folder, 'again') }, async (rowmill) => {
    const jobId = await runToEnd(rowmill);
    const failed = (await rowmill.summary(jobId))!.files.find((file) => file.name === 'unsuccessful.csv')!;
    const corrected = (await read(rowmill, failed.key)).replace('not a number', '8');
    const bytes = (async function* () {
      yield Buffer.from(corrected);
    })();
    const second = await rowmill.createFileJob(prices, { name: 'corrected.csv', bytes });
    expect(second.ignoredColumns).toEqual([
      'rowmill_status',
      'rowmill_error',
      'rowmill_error_class',
      'rowmill_attempts',
    ]);
    expect(second.columns.map((column) => column.header)).toEqual(['SKU', 'N', 'Note']);
    expect(second.source.detected.csv).toMatchObject({ delimiter: ';' });
  });
});

test('a store that is down delays the summary with a visible reason, and nothing is lost', async () => {
  // A file in the place of the folder.
  const blocked = join(folder, 'blocked');
  const settings = { blobStore: join(folder, 'delayed'), finalizeRetryMaxMs: 200, finalizeLeaseMs: 2000 };
  await withRowmill(settings, async (rowmill) => {
    const jobId = await rowmill.submit(prices, [{ sku: 'a', n: 1 }]);
    writeFileSync(blocked, '');
    const worker = await rowmill.startWorker([prices], {
      settings: { ...contextOf(rowmill).settings, blobStore: blocked },
    });
    const delayed = await worker.events.next('finalize.delayed', (e) => e.jobId === jobId && e.attempt >= 2);
    expect(String(delayed.error)).toContain(blocked);
    const waiting = await rowmill.job(jobId);
    expect(waiting).toMatchObject({ state: 'FINALIZING', lastError: expect.stringContaining(blocked) });
    expect(await rowmill.summary(jobId)).toBeNull();
    rmSync(blocked);
    mkdirSync(blocked);
    const summary = await whenFinished(rowmill, jobId);
    await worker.stop();
    expect(summary.files.map((file) => file.name)).toEqual(['results.csv', 'summary.json']);
    expect(summary.files[0]!.key).toMatch(/\/g1\/a(?:[3-9]|\d{2,})\//);
    expect((await rowmill.job(jobId)).lastError).toBeNull();
  });
});

test('a finalizer that was overtaken publishes nothing, and its files are deleted', async () => {
  const settings = { blobStore: join(folder, 'zombie'), finalizeLeaseMs: 200 };
  await withRowmill(settings, async (rowmill) => {
    const context = contextOf(rowmill);
    const jobId = await rowmill.submit(prices, []);
    await database.query(`delete from summaries where job_id = $1`, [jobId]);
    await database.query(`delete from job_events where job_id = $1`, [jobId]);
    await database.query(`update jobs set state = 'FINALIZING', finalize_attempts = 0 where job_id = $1`, [
      jobId,
    ]);
    const zombie = crypto.randomUUID();
    const lease = await claimFinalize(context.db, { jobId, workerId: zombie, token: zombie, leaseMs: 1 });
    expect(lease).toMatchObject({ attempt: 1 });
    await context.blobs.put(
      `outputs/${jobId}/g1/a1/results.csv`,
      (async function* () {
        yield Buffer.from('half');
      })(),
    );
    expect(await finalizeJob(context, jobId)).toBe(true);
    expect(await finalizeJob(context, jobId)).toBe(false);
    const summary = (await rowmill.summary(jobId))!;
    expect(summary.files.map((file) => file.key)).toEqual(await keysUnder(rowmill, `outputs/${jobId}/`));
    expect(summary.files[0]!.key).toContain('/a2/');
    expect(
      await database.query(`select 1 from job_events where job_id = $1 and kind = 'job.finished'`, [jobId]),
    ).toHaveLength(1);
  });
});

test('two concurrent finalizers write one summary, and its files are complete', async () => {
  await withRowmill({ blobStore: join(folder, 'two'), finalizeLeaseMs: 200 }, async (rowmill) => {
    const jobId = await rowmill.submit(prices, []);
    await database.query(`delete from summaries where job_id = $1`, [jobId]);
    await database.query(
      `update jobs set state = 'FINALIZING', finalize_attempts = 0, finalize_expires_at = null where job_id = $1`,
      [jobId],
    );
    const won = await Promise.all([1, 2, 3].map(() => finalizeJob(contextOf(rowmill), jobId)));
    expect(won.filter(Boolean)).toHaveLength(1);
    for (const file of (await rowmill.summary(jobId))!.files) await contextOf(rowmill).blobs.verify(file);
  });
});

test('a job can have several output formats, or none', async () => {
  await withRowmill({ blobStore: join(folder, 'formats') }, async (rowmill) => {
    const many = await rowmill.submit(prices, [{ sku: 'a', n: 1 }], { outputs: ['csv', 'xlsx', 'jsonl'] });
    const none = await rowmill.submit(prices, [{ sku: 'a', n: 1 }], { outputs: [] });
    const worker = await rowmill.startWorker([prices]);
    const names = async (jobId: string) =>
      (await whenFinished(rowmill, jobId)).files.map((file) => file.name);
    expect(await names(many)).toEqual(['results.csv', 'results.xlsx', 'results.jsonl', 'summary.json']);
    expect(await names(none)).toEqual([]);
    await worker.stop();
  });
});

test('only old blobs without a reference are deleted', async () => {
  const blobStore = join(folder, 'collect');
  await withRowmill({ blobStore }, async (rowmill) => {
    const context = contextOf(rowmill);
    const one = (text: string) =>
      (async function* () {
        yield Buffer.from(text);
      })();
    const jobId = await runToEnd(rowmill);
    const unused = await context.blobs.putByHash('files/', one('never became a job'));
    const orphan = await context.blobs.put(`outputs/${jobId}/g1/a9/results.csv`, one('crashed'));
    const before = [...(await keysUnder(rowmill, 'files/')), ...(await keysUnder(rowmill, 'outputs/'))];
    expect(await collectBlobs(context), 'all blobs are too young').toBe(0);
    const old = { ...context, settings: { ...context.settings, blobLeftoverMs: 0 } };
    let collected = 0;
    await expect
      .poll(async () => {
        collected += await collectBlobs(old);
        return collected;
      })
      .toBe(2);
    const after = [...(await keysUnder(rowmill, 'files/')), ...(await keysUnder(rowmill, 'outputs/'))];
    expect(after).toEqual(before.filter((key) => key !== unused.key && key !== orphan.key));
  });
});

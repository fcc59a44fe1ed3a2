// The transactions example, end to end at a small scale: several worker processes, some of which are killed while they
// finalize a batch. The results equal what the generator knows, and each batch is reported once per generation.
import { parse } from 'csv-parse/sync';
import { openRowmill, type Pipeline, type Rowmill } from 'rowmill';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { checkBatch, readAll } from '../../examples/transactions/check-batch.ts';
import {
  ENDS,
  generateTransactions,
  type KnownTransaction,
} from '../../examples/transactions/generate-transactions.ts';
import { isIban, transactions } from '../../examples/transactions/pipeline.ts';
import { type Bank, startBank } from '../../examples/transactions/start-bank.ts';
import type { FaultPoint } from '../../src/platform/fault-point.ts';
import { type Child, killAll, startChild } from '../support/child-process.ts';
import { isDeep } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';

const BY_STATUS = ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED'];

const database = useTestDatabase();
const known = [...generateTransactions(2000, 5)];
const rowsOf = (some: readonly KnownTransaction[]): object[] => some.map(({ row }) => row);
const WORKER = new URL('../../examples/transactions/worker.ts', import.meta.url);
const patience = (): AbortSignal => AbortSignal.timeout(55_000);

let bank: Bank;
let rowmill: Rowmill;
beforeAll(async () => {
  bank = await startBank({ latencyMs: 2 });
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterEach(killAll);
afterAll(async () => {
  await rowmill.close();
  await bank.stop();
});

/** Starts a worker with short leases, so that a dead one is replaced soon. */
function startWorker(faultPoints = ''): Child {
  return startChild({
    script: WORKER,
    env: {
      DATABASE_URL: database.url,
      SCREENING_URL: bank.screeningUrl,
      CALLBACK_URL: bank.callbackUrl,
      LOCK_FLOOR_MS: '2000',
      LOCK_CAP_MS: '2000',
      FINALIZE_LEASE_MS: '800',
      SWEEP_MS: '100',
      LOG_LEVEL: 'error',
      ROWMILL_FAULT_POINTS: faultPoints,
    },
  });
}

async function whenBooked(id: string): Promise<void> {
  await expect.poll(() => bank.booked.has(id)).toBe(true);
}

describe('a batch', () => {
  test('that is held, filled and sealed ends as the generator expects, although a worker is killed', async () => {
    database.keepIfFailed();
    const { jobId } = await rowmill.createJob(transactions, { name: 'today', hold: true });
    const workers = [startWorker(), startWorker(), startWorker()];
    await Promise.all(workers.map((worker) => worker.waitFor('ready')));
    for (let part = 0; part < 4; part += 1)
      await rowmill.addItems(jobId, rowsOf(known.slice(part * 500, (part + 1) * 500)));
    expect(await rowmill.sealJob(jobId)).toBe(known.length);
    await expect(rowmill.addItems(jobId, rowsOf(known.slice(0, 1)))).rejects.toThrow(/open for items/);
    expect(await rowmill.job(jobId)).toMatchObject({ state: 'PAUSED', itemCount: known.length });
    const asked = bank.stats.calls;
    expect((await rowmill.progress(jobId)).counts).toMatchObject({ PENDING: known.length, PROCESSING: 0 });

    // Keeps the batch from finishing before one of the workers is dead.
    bank.holdScreening(true);
    await rowmill.resume(jobId);
    await expect.poll(() => bank.stats.calls, { timeout: 45_000 }).toBeGreaterThan(asked + 1);
    workers[0]!.kill('SIGKILL');
    await workers[0]!.exited;
    bank.holdScreening(false);
    const seen: number[] = [];
    for (const signal = patience(); ; signal.throwIfAborted()) {
      const { counts } = await rowmill.progress(jobId);
      expect(Object.values(counts).reduce((sum, each) => sum + each)).toBe(known.length);
      seen.push(known.length - counts.PENDING - counts.PROCESSING);
      if (await rowmill.summary(jobId)) break;
    }
    expect(seen, 'what has ended stays ended').toEqual(seen.toSorted((a, b) => a - b));

    const { problems, counts } = await checkBatch(rowmill, jobId, known);
    expect(problems).toEqual([]);
    const summary = (await rowmill.summary(jobId))!;
    expect(summary.files.map(({ name }) => name)).toEqual([
      'results.csv',
      ...BY_STATUS.map((status) => `${status.toLowerCase()}.csv`),
      'unsuccessful.csv',
      'summary.json',
    ]);
    const read = async (name: string): Promise<string> => {
      const { key } = summary.files.find((file) => file.name === name)!;
      return (await readAll(await rowmill.openFile(key))).toString();
    };
    const rowsIn = async (name: string) =>
      parse(await read(name), { columns: true }) as Record<string, string>[];
    const results = await rowsIn('results.csv');
    expect(results.map(({ transaction_id, status, decision }) => [transaction_id, status, decision])).toEqual(
      known.map(({ row, fate }) => [row.transaction_id, ENDS[fate].status, ENDS[fate].decision ?? '']),
    );
    const failed = await rowsIn('unsuccessful.csv');
    const isFailed = ({ fate }: KnownTransaction): boolean =>
      ENDS[fate].status === 'ERROR' || ENDS[fate].status === 'NOT_FOUND';
    // Failed rows are written as submitted, to be corrected and submitted again.
    expect(failed.map(({ transaction_id, amount }) => [transaction_id, amount])).toEqual(
      known.filter(isFailed).map(({ row }) => [row.transaction_id, row.amount]),
    );
    expect(JSON.parse(await read('summary.json'))).toMatchObject({
      jobId,
      generation: 1,
      state: 'DONE',
      outcome: 'partly',
      counts,
    });
    for (const status of BY_STATUS) {
      const rows = await rowsIn(`${status.toLowerCase()}.csv`);
      expect(rows.map((row) => row.status)).toEqual(Array(counts[status]).fill(status));
    }
    await whenBooked(`${jobId}:1:done`);
    expect(bank.booked.get(`${jobId}:1:done`)).toMatchObject({
      jobId,
      state: 'DONE',
      outcome: 'partly',
      counts,
    });
  });

  const points: { point: FaultPoint; came: number }[] = [
    { point: 'finalize.after_begin', came: 1 },
    { point: 'finalize.after_file', came: 1 },
    { point: 'finalize.before_commit', came: 1 },
    { point: 'finalize.after_commit', came: 1 },
    { point: 'callback.after_call', came: 2 },
  ];
  test.each(points.filter(({ point }) => isDeep || point === 'callback.after_call'))(
    'whose worker is killed at $point is reported once',
    async ({ point, came }) => {
      database.keepIfFailed();
      const some = known.slice(0, 300);
      const victim = startWorker(`${point}=kill`);
      const jobId = await rowmill.submit(transactions as Pipeline, rowsOf(some));
      expect(await victim.exited, victim.stderrTail).toEqual({ code: null, signal: 'SIGKILL' });
      expect(victim.events.filter(({ event }) => event === 'fault')).toMatchObject([{ name: point }]);
      // The dead worker holds the callback for longer than the test can wait.
      await database.query('update callbacks set expires_at = now() where token is not null');
      startWorker();
      startWorker();
      await rowmill.whenFinished(jobId, patience());
      const id = `${jobId}:1:done`;
      await whenBooked(id);
      const told = () => database.query('select state from callbacks where job_id = $1', [jobId]);
      await expect.poll(told, { timeout: 45_000 }).toEqual([{ state: 'DONE' }]);
      expect(bank.deliveries.get(id)).toBe(came);
      expect([...bank.booked.keys()].filter((key) => key.startsWith(jobId))).toEqual([id]);
      expect((await checkBatch(rowmill, jobId, some)).problems).toEqual([]);
      const summaries = await database.query('select generation from summaries where job_id = $1', [jobId]);
      expect(summaries).toEqual([{ generation: 1 }]);
    },
  );

  test('that is cancelled keeps its finished rows, and is reported as cancelled', async () => {
    const some = known.slice(0, 1000);
    const asked = bank.stats.calls;
    bank.holdScreening(true);
    startWorker();
    const jobId = await rowmill.submit(transactions as Pipeline, rowsOf(some));
    await expect.poll(() => bank.stats.calls, { timeout: 45_000 }).toBeGreaterThan(asked);
    expect(await rowmill.cancel(jobId)).toBe(true);
    bank.holdScreening(false);
    const summary = await rowmill.whenFinished(jobId, patience());
    expect(summary).toMatchObject({ state: 'CANCELLED', total: some.length });
    const { counts } = await rowmill.progress(jobId);
    expect(counts).toMatchObject({ PENDING: 0, PROCESSING: 0 });
    expect(counts.CANCELLED).toBeGreaterThan(0);
    for await (const { seq, status } of rowmill.results(jobId))
      expect([ENDS[some[seq]!.fate].status, 'CANCELLED']).toContain(status);
    await whenBooked(`${jobId}:1:done`);
    expect(bank.booked.get(`${jobId}:1:done`)).toMatchObject({ state: 'CANCELLED' });
    await expect(rowmill.resume(jobId)).rejects.toThrow(/CANCELLED/);
  });

  test('that is rerun is reported under another id', async () => {
    const some = known.slice(0, 500);
    bank.openAccounts(false);
    startWorker();
    const jobId = await rowmill.submit(transactions as Pipeline, rowsOf(some));
    await rowmill.whenFinished(jobId, patience());
    await whenBooked(`${jobId}:1:done`);
    bank.openAccounts(true);
    const { selected } = await rowmill.reprocess(jobId, { statuses: ['NOT_FOUND'] });
    expect(selected).toBe(some.filter(({ fate }) => fate === 'unknown').length);
    await rowmill.whenFinished(jobId, patience());
    await whenBooked(`${jobId}:2:done`);
    expect((await checkBatch(rowmill, jobId, some, true)).problems).toEqual([]);
    const told = [...bank.booked].filter(([id]) => id.startsWith(jobId));
    expect(told.map(([id, { generation }]) => [id, generation])).toEqual([
      [`${jobId}:1:done`, 1],
      [`${jobId}:2:done`, 2],
    ]);
  });
});

describe('the transactions', () => {
  test('are the same for a seed, and have every fate', () => {
    expect([...generateTransactions(2000, 5)]).toEqual(known);
    expect([...generateTransactions(100, 6)]).not.toEqual(known.slice(0, 100));
    expect([...new Set(known.map(({ fate }) => fate))].sort()).toEqual(Object.keys(ENDS).sort());
  });

  test('have valid IBAN checksums, except for those that are wrong on purpose', () => {
    for (const { row, fate } of known)
      expect([row.to_iban, isIban(row.to_iban)]).toEqual([row.to_iban, fate !== 'badIban']);
    expect(
      ['DE89370400440532013000', 'GB29NWBK60161331926819', 'DE88370400440532013000'].map(isIban),
    ).toEqual([true, true, false]);
  });
});

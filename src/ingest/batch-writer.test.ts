// How batch sizes adapt to a real PostgreSQL that is slowed down, busy or disconnects.
import { afterEach, describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../test/support/test-database.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import type { RowmillEvents } from '../platform/events.ts';
import type { Settings } from '../platform/settings.ts';
import { definePipeline } from '../pipeline/define-pipeline.ts';
import { ingestJob } from './ingest-job.ts';
import { submitFile } from './submit-file.ts';

const database = useTestDatabase();
const pipeline = definePipeline({ name: 'sizes', phases: [{ name: 'only', run: () => null }] });
type Batch = RowmillEvents['ingest.batch'];

afterEach(() => database.query('drop trigger if exists slow on spans'));

/** Ingests and returns the batches; `onBatch` runs while the next batch is being stored. */
async function batchesOf(
  rows: number,
  settings: Partial<Settings>,
  onBatch: (batch: Batch, index: number, context: EngineContext) => void = () => {},
  line = (n: number) => `${n},row ${n}`,
): Promise<Batch[]> {
  const context = database.context({ dbP50Ms: 5000, dbP95Ms: 10_000, ...settings });
  const text = `n,name\n${Array.from({ length: rows }, (_, n) => line(n)).join('\n')}\n`;
  const bytes = (async function* () {
    yield Buffer.from(text);
  })();
  const file = { kind: 'upload', name: 'sizes.csv', bytes };
  const { jobId } = await submitFile(context, pipeline, file, { again: true });
  const batches: Batch[] = [];
  const off = context.events.on('ingest.batch', (batch) => {
    batches.push(batch);
    onBatch(batch, batches.length, context);
  });
  await ingestJob(context, jobId, pipeline);
  off();
  const [job] = await database.query('select item_count::int from jobs where job_id = $1', [jobId]);
  expect(job).toEqual({ item_count: rows });
  return batches;
}

const NEVER_SLOW = { dbP50Ms: 60_000, dbP95Ms: 60_000 };

async function slowDown(ms: number): Promise<void> {
  await database.query(`
    create or replace function be_slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(${ms / 1000}); return null; end $$`);
  await database.query(
    'create trigger slow after insert on spans for each statement execute function be_slow()',
  );
}

describe('ingest batches', () => {
  it('start at the minimum and double up to the maximum', async () => {
    const batches = await batchesOf(5000, {
      ingestMinRows: 64,
      ingestMaxRows: 1000,
      ...NEVER_SLOW,
    });
    // A batch is gathered while the previous one is stored, so each size is used twice before it doubles.
    expect(batches.map((batch) => batch.rows).slice(0, 9)).toEqual([
      64, 64, 128, 128, 256, 256, 512, 512, 1000,
    ]);
  });

  it('grow although commits are slower than the target, if small ones are not faster', async () => {
    // A commit takes as long for one row as for many.
    await slowDown(60);
    const batches = await batchesOf(1000, { ingestMinRows: 64, dbP50Ms: 40, dbP95Ms: 100 });
    expect(Math.max(...batches.map((batch) => batch.nextRows))).toBeGreaterThan(64);
  });

  it('shrink immediately when one takes nearly as long as its lease', async () => {
    // Slower than a busy machine, and more than a quarter of the lease.
    const slowMs = 3000;
    const settings = { ingestMinRows: 16, ingestMaxRows: 256, ...NEVER_SLOW, ingestLeaseMs: 4 * slowMs };
    const waiting: Promise<unknown>[] = [];
    const batches = await batchesOf(4000, settings, (batch, index) => {
      if (index === 6) waiting.push(slowDown(slowMs + 100));
      if (batch.ms > slowMs) waiting.push(database.query('drop trigger if exists slow on spans'));
    });
    await Promise.all(waiting);
    const first = batches.findIndex((batch) => batch.ms > slowMs);
    expect(first).toBeGreaterThan(0);
    expect(batches[first]!.nextRows).toBe(batches[first - 1]!.nextRows / 2);
  });

  it('shrink when all connections are busy', async () => {
    const hold = { name: 'hold', text: 'select pg_sleep(0.4)' };
    const batches = await batchesOf(3000, { ingestMinRows: 16, ingestMaxRows: 256 }, (_, index, context) => {
      if (index === 4) for (let n = 0; n < 8; n += 1) void context.db.run(hold);
    });
    // Earlier batches may have waited for a connection to be opened.
    const waited = batches.findIndex((batch, at) => at >= 4 && batch.poolWaitMs > 100);
    expect(waited).toBeGreaterThan(0);
    expect(batches[waited]!.nextRows).toBeLessThan(batches[waited - 1]!.nextRows);
  });

  it('shrink by more after an error, and nothing is stored twice', async () => {
    // So that a batch is always being stored when the error strikes.
    await slowDown(50);
    const cuts: Promise<unknown>[] = [];
    const batches = await batchesOf(4000, { ingestMinRows: 16, ingestMaxRows: 256 }, (_, index) => {
      if (index === 7) {
        cuts.push(
          database.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid() and application_name = 'test'`,
          ),
        );
      }
    });
    await Promise.all(cuts);
    const failed = batches.find((batch) => batch.tries > 1);
    expect(failed, 'void: no batch was hit').toBeDefined();
    const before = batches[batches.indexOf(failed!) - 1]!;
    expect(failed!.nextRows).toBe(Math.max(16, before.nextRows / 4));
  });

  it('are limited in bytes, and end before the row that would exceed the limit', async () => {
    const settings = { ingestMinRows: 1000, ingestMaxBatchBytes: 10_000 };
    const batches = await batchesOf(100, settings, undefined, (n) => `${n},${'x'.repeat(1000)}`);
    expect(Math.max(...batches.map((batch) => batch.rows))).toBe(9);
    expect(batches.reduce((sum, batch) => sum + batch.rows, 0)).toBe(100);
  });

  it('are limited in bytes, not in characters', async () => {
    // A row is 3,021 bytes or 1,021 characters; a single row may exceed the limit.
    const line = (n: number) => `${n},${'漢'.repeat(n === 50 ? 4000 : 1000)}`;
    const settings = { ingestMinRows: 1000, ingestMaxBatchBytes: 10_000 };
    const batches = await batchesOf(100, settings, undefined, line);
    expect(Math.max(...batches.map((batch) => batch.rows))).toBe(3);
    expect(batches.reduce((sum, batch) => sum + batch.rows, 0)).toBe(100);
    expect(batches.filter((batch) => batch.rows === 1).length).toBeGreaterThan(0);
  });
});

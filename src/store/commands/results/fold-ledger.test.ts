import { describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import { foldLedger } from '../../../engine/services/ledger-folder.ts';
import { newId } from '../../../platform/random.ts';
import { foldLedgerOf } from './fold-ledger.ts';
import { emptyLedgerCounts, insertLedgerEntry, type LedgerCounts } from './insert-ledger-entry.ts';

const database = useTestDatabase();
const HOUR_MS = 3_600_000;

const SUMS = `select generation, phase, sum(flushes)::int as flushes, sum(done)::int as done, sum(error)::int as error,
    sum(not_found)::int as not_found, sum(skipped)::int as skipped, sum(cancelled)::int as cancelled,
    sum(advanced)::int as advanced, sum(retried)::int as retried, sum(fenced)::int as fenced, sum(bytes)::int as bytes,
    sum(handler_ms) as handler_ms
  from ledger where job_id = $1 group by generation, phase order by 1, 2`;

async function rowCount(jobId: string): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    'select count(*)::int as n from ledger where job_id = $1',
    [jobId],
  );
  return row!.n;
}

/** Every count is different, so that mixed-up columns are noticed. */
function counts(n: number): LedgerCounts {
  return {
    done: n,
    error: n * 2,
    notFound: n * 3,
    skipped: n * 5,
    cancelled: n * 7,
    advanced: n * 11,
    retried: n * 13,
    fenced: n * 17,
    bytes: n * 19,
    cost: 0,
    fencedCost: 0,
    handlerMs: n * 0.5,
  };
}

/** Writes an entry as a flush does, and moves it into the past. */
async function addEntry(
  jobId: string,
  entry: { n: number; generation?: number; phase?: number; minute: string },
): Promise<void> {
  const entryId = newId();
  const { generation = 1, phase = 0 } = entry;
  await insertLedgerEntry(
    database.context().db,
    { jobId, entryId, generation, phase, workerId: newId() },
    counts(entry.n),
  );
  await database.query('update ledger set at = $2 where entry_id = $1', [entryId, entry.minute]);
}

describe('folding', () => {
  it('leaves one row per generation, phase and minute, and the same sums', async () => {
    const jobId = newId();
    for (let n = 1; n <= 6; n += 1) {
      await addEntry(jobId, { n, minute: `2026-01-01T00:00:0${n}Z` });
      await addEntry(jobId, { n, phase: 1, minute: `2026-01-01T00:00:0${n}Z` });
      await addEntry(jobId, { n, generation: 2, minute: `2026-01-01T00:00:0${n}Z` });
      await addEntry(jobId, { n, minute: `2026-01-01T00:01:0${n}Z` });
    }
    const before = await database.query(SUMS, [jobId]);
    expect(await foldLedgerOf(database.context().db, jobId, HOUR_MS)).toBe(4);
    expect(await database.query(SUMS, [jobId])).toEqual(before);
    expect(await rowCount(jobId)).toBe(4);
    const minutes = await database.query<{ at: Date; flushes: string }>(
      'select at, flushes from ledger where job_id = $1 order by at, phase',
      [jobId],
    );
    expect(minutes.map((row) => row.at.toISOString())).toEqual([
      ...Array<string>(3).fill('2026-01-01T00:00:00.000Z'),
      '2026-01-01T00:01:00.000Z',
    ]);
    expect(minutes.every((row) => row.flushes === '6')).toBe(true);
  });

  it('changes nothing the second time, and adds late rows to their minute', async () => {
    const jobId = newId();
    for (const n of [1, 2, 3]) await addEntry(jobId, { n, minute: '2026-01-01T00:00:30Z' });
    const { db } = database.context();
    expect(await foldLedgerOf(db, jobId, HOUR_MS)).toBe(1);
    expect(await foldLedgerOf(db, jobId, HOUR_MS)).toBe(0);
    await addEntry(jobId, { n: 4, minute: '2026-01-01T00:00:59.999Z' });
    const before = await database.query(SUMS, [jobId]);
    expect(await foldLedgerOf(db, jobId, HOUR_MS)).toBe(1);
    expect(await database.query(SUMS, [jobId])).toEqual(before);
    expect(await rowCount(jobId)).toBe(1);
  });

  it('leaves young rows and other jobs alone', async () => {
    const [jobId, otherId] = [newId(), newId()];
    for (const n of [1, 2, 3]) {
      await addEntry(otherId, { n, minute: '2026-01-01T00:00:30Z' });
      await insertLedgerEntry(
        database.context().db,
        { jobId, entryId: newId(), generation: 1, phase: 0, workerId: null },
        counts(n),
      );
    }
    expect(await foldLedgerOf(database.context().db, jobId, HOUR_MS)).toBe(0);
    expect(await rowCount(jobId)).toBe(3);
    expect(await rowCount(otherId)).toBe(3);
  });

  it('runs in the service for every job with enough rows', async () => {
    const jobId = newId();
    for (let n = 1; n <= 11; n += 1) await addEntry(jobId, { n, minute: '2026-01-01T00:00:30Z' });
    const before = await database.query(SUMS, [jobId]);
    await foldLedger(database.context({ foldAfterMs: HOUR_MS }));
    expect(await rowCount(jobId)).toBe(1);
    expect(await database.query(SUMS, [jobId])).toEqual(before);
  });
});

describe('folding while others write and fold', () => {
  it('keeps the sums, and no reader ever sees a wrong one', async () => {
    database.keepIfFailed();
    const jobId = newId();
    const [WRITERS, ENTRIES] = [3, 60];
    let writing = WRITERS;
    let written = 0;
    let committed = 0;
    const write = async (): Promise<void> => {
      const { db } = database.context();
      for (let i = 0; i < ENTRIES; i += 1) {
        written += 1;
        await insertLedgerEntry(
          db,
          { jobId, entryId: newId(), generation: 1, phase: 0, workerId: null },
          { ...emptyLedgerCounts(), done: 1 },
        );
        committed += 1;
      }
      writing -= 1;
    };
    const fold = async (): Promise<number> => {
      const { db } = database.context();
      let minutes = 0;
      while (writing > 0) minutes += await foldLedgerOf(db, jobId, 0);
      return minutes;
    };
    const read = async (): Promise<void> => {
      while (writing > 0) {
        const least = committed;
        const [row] = await database.query<{ done: number; flushes: number }>(
          'select coalesce(sum(done), 0)::int as done, coalesce(sum(flushes), 0)::int as flushes from ledger where job_id = $1',
          [jobId],
        );
        expect(row!.done).toBeGreaterThanOrEqual(least);
        expect(row!.done).toBeLessThanOrEqual(written);
        expect(row!.flushes).toBe(row!.done);
      }
    };
    const [folded] = await Promise.all([
      Promise.all([fold(), fold(), fold()]),
      read(),
      ...Array.from({ length: WRITERS }, write),
    ]);
    expect(folded.reduce((sum, minutes) => sum + minutes, 0)).toBeGreaterThan(0);
    const total = WRITERS * ENTRIES;
    expect(await database.query(SUMS, [jobId])).toMatchObject([{ done: total, flushes: total }]);
  });
});

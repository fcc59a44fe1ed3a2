import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchSize } from './batch-size.ts';

const bounds = { minRows: 64, maxRows: 10_000, p50Ms: 250, p95Ms: 1000, maxMs: 7500 };

function sizesWith(msOf: (rows: number, batch: number) => number, batches: number): number[] {
  const size = new BatchSize(bounds);
  const seen: number[] = [];
  for (let i = 0; i < batches; i += 1) {
    seen.push(size.rows);
    size.committed({ rows: size.rows, ms: msOf(size.rows, i), poolWaitMs: 1 });
  }
  return seen;
}

/** A commit and its round trips take 400 ms, a row 0.6 ms: twenty times as long as on an idle machine. */
function busy(rows: number): number {
  return 20 * (20 + 0.03 * rows);
}

/** Numbers in [0, 1), the same for the same seed. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Average over all rows stored in batches of these sizes. */
function costPerRow(sizes: number[], msOf: (rows: number) => number): number {
  const sum = (values: number[]): number => values.reduce((total, each) => total + each, 0);
  return sum(sizes.map(msOf)) / sum(sizes);
}

describe('the size of ingest batches', () => {
  it('starts at the minimum and doubles up to the maximum while the database is fast', () => {
    expect(sizesWith((rows) => rows / 100, 10)).toEqual([
      64, 128, 256, 512, 1024, 2048, 4096, 8192, 10_000, 10_000,
    ]);
  });

  it('settles below the target instead of oscillating around it', () => {
    // 4 rows per millisecond: 1,024 rows take 256 ms.
    const settled = sizesWith((rows) => rows / 4, 60).slice(-30);
    expect(new Set(settled).size).toBe(1);
    expect(settled[0]! / 4).toBeLessThanOrEqual(bounds.p50Ms);
    expect(settled[0]!).toBeGreaterThanOrEqual(256);
  });

  it('shrinks immediately after one slow commit, and grows again if the next ones are fast', () => {
    const size = new BatchSize(bounds);
    for (let i = 0; i < 10; i += 1) size.committed({ rows: size.rows, ms: 10, poolWaitMs: 0 });
    expect(size.rows).toBe(10_000);
    size.committed({ rows: size.rows, ms: 5000, poolWaitMs: 0 });
    expect(size.rows).toBe(5000);
    size.committed({ rows: size.rows, ms: 10, poolWaitMs: 0 });
    expect(size.rows).toBe(10_000);
  });

  it('shrinks when batches wait for connections, and by more after an error', () => {
    const size = new BatchSize(bounds);
    for (let i = 0; i < 10; i += 1) size.committed({ rows: size.rows, ms: 10, poolWaitMs: 0 });
    size.committed({ rows: size.rows, ms: 10, poolWaitMs: 200 });
    expect(size.rows).toBe(5000);
    size.failed();
    expect(size.rows).toBe(1250);
  });

  it('stays large on a machine that is twenty times as slow', () => {
    const sizes = sizesWith((rows) => busy(rows), 200);
    // Small batches are not faster: 64 rows take 438 ms, nine times as long per row as in the end.
    expect(Math.min(...sizes.slice(30))).toBeGreaterThanOrEqual(512);
    expect(costPerRow(sizes.slice(30), busy)).toBeLessThan((busy(64) / 64) * 0.2);
  });

  it('stays large when a machine becomes twenty times as slow during the ingest', () => {
    const ms = (rows: number, batch: number): number => (batch < 20 ? busy(rows) / 20 : busy(rows));
    const sizes = sizesWith(ms, 200);
    expect(sizes[20]).toBe(4096);
    expect(Math.min(...sizes.slice(20))).toBeGreaterThanOrEqual(2048);
  });

  it('stays large when all rows take the same time and there is nothing to gain', () => {
    const sizes = sizesWith((rows, batch) => (batch < 20 ? rows / 4 : rows * 5), 200);
    expect(sizes[20]).toBe(512);
    expect(Math.min(...sizes.slice(20))).toBeGreaterThanOrEqual(256);
    expect(sizes.slice(20).filter((rows) => rows >= 512).length).toBeGreaterThan(150);
  });

  it('stays large when every batch waits for a connection', () => {
    const size = new BatchSize(bounds);
    const seen = Array.from({ length: 200 }, () => {
      size.committed({ rows: size.rows, ms: 150 + size.rows / 50, poolWaitMs: 150 });
      return size.rows;
    });
    expect(Math.min(...seen.slice(30))).toBeGreaterThanOrEqual(1024);
  });

  it('shrinks while larger batches take longer per row', () => {
    const crowded = (rows: number): number => 0.002 * rows ** 1.6;
    const sizes = sizesWith((rows, batch) => (batch < 20 ? 1 : crowded(rows)), 200);
    expect(sizes[20]).toBe(10_000);
    const settled = sizes.slice(100);
    // Except for a rare trial of larger batches.
    expect(settled.filter((rows) => crowded(rows) <= bounds.p50Ms).length).toBeGreaterThanOrEqual(90);
    expect(Math.max(...settled)).toBeLessThanOrEqual(2500);
  });

  it('does not stay small if the fixed cost of a batch is near the target', () => {
    const moderate = (rows: number): number => busy(rows) / 3;
    expect(moderate(64)).toBeGreaterThan(bounds.p50Ms / 2);
    expect(moderate(64)).toBeLessThan(bounds.p50Ms);
    expect(Math.min(...sizesWith(moderate, 200).slice(30))).toBeGreaterThanOrEqual(512);
  });

  it('does not drift to the minimum because of random delays', () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = sequence(seed);
      const sizes = sizesWith((rows) => (busy(rows) / 3) * (1 + 4 * random()), 400).slice(100);
      expect(costPerRow(sizes, busy), `seed ${seed}`).toBeLessThan((busy(64) / 64) * 0.3);
    }
  });

  it('shrinks without a trial when a batch comes close to a deadline', () => {
    const sizes = sizesWith((rows, batch) => (batch < 20 ? 1 : rows * 10), 30);
    expect(sizes.slice(20, 25)).toEqual([10_000, 5000, 2500, 1250, 625]);
  });

  it('ignores batches that were collected before the size was reduced', () => {
    const size = new BatchSize(bounds);
    for (let i = 0; i < 10; i += 1) size.committed({ rows: size.rows, ms: 10, poolWaitMs: 0 });
    size.failed();
    size.committed({ rows: 10_000, ms: 20_000, poolWaitMs: 0 });
    expect(size.rows).toBe(2500);
  });

  it('does not grow after batches that the byte limit cut short', () => {
    const size = new BatchSize(bounds);
    size.committed({ rows: 3, ms: 1, poolWaitMs: 0 });
    expect(size.rows).toBe(64);
  });

  it('always stays within its bounds', () => {
    const step = fc.oneof(
      fc.record({ ms: fc.double({ min: 0, max: 1e5, noNaN: true }), wait: fc.integer({ min: 0, max: 300 }) }),
      fc.constant('failed' as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const size = new BatchSize(bounds);
        for (const each of steps) {
          if (each === 'failed') size.failed();
          else size.committed({ rows: size.rows, ms: each.ms, poolWaitMs: each.wait });
          expect(size.rows).toBeGreaterThanOrEqual(bounds.minRows);
          expect(size.rows).toBeLessThanOrEqual(bounds.maxRows);
        }
      }),
    );
  });
});

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

/** A commit and its round trips cost 400 ms, a row 0.6 ms: twenty times what an idle machine needs. */
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

/** Over all rows that were stored in batches of these sizes. */
function costPerRow(sizes: number[], msOf: (rows: number) => number): number {
  const sum = (values: number[]): number => values.reduce((total, each) => total + each, 0);
  return sum(sizes.map(msOf)) / sum(sizes);
}

describe('the size of ingest batches', () => {
  it('starts at the minimum and doubles up to the maximum while the database is quick', () => {
    expect(sizesWith((rows) => rows / 100, 10)).toEqual([
      64, 128, 256, 512, 1024, 2048, 4096, 8192, 10_000, 10_000,
    ]);
  });

  it('settles below the target instead of swinging around it', () => {
    // 4 rows a millisecond: 1,024 rows take 256 ms.
    const settled = sizesWith((rows) => rows / 4, 60).slice(-30);
    expect(new Set(settled).size).toBe(1);
    expect(settled[0]! / 4).toBeLessThanOrEqual(bounds.p50Ms);
    expect(settled[0]!).toBeGreaterThanOrEqual(256);
  });

  it('shrinks at once when one commit is slow, and grows again when it was a moment', () => {
    const size = new BatchSize(bounds);
    for (let i = 0; i < 10; i += 1) size.committed({ rows: size.rows, ms: 10, poolWaitMs: 0 });
    expect(size.rows).toBe(10_000);
    size.committed({ rows: size.rows, ms: 5000, poolWaitMs: 0 });
    expect(size.rows).toBe(5000);
    size.committed({ rows: size.rows, ms: 10, poolWaitMs: 0 });
    expect(size.rows).toBe(10_000);
  });

  it('shrinks when connections are waited for, and by more after an error', () => {
    const size = new BatchSize(bounds);
    for (let i = 0; i < 10; i += 1) size.committed({ rows: size.rows, ms: 10, poolWaitMs: 0 });
    size.committed({ rows: size.rows, ms: 10, poolWaitMs: 200 });
    expect(size.rows).toBe(5000);
    size.failed();
    expect(size.rows).toBe(1250);
  });

  it('stays useful on a machine where everything takes twenty times as long', () => {
    const sizes = sizesWith((rows) => busy(rows), 200);
    // Small batches are not faster: 64 rows take 438 ms, and a row of them nine times as long as in the end.
    expect(Math.min(...sizes.slice(30))).toBeGreaterThanOrEqual(512);
    expect(costPerRow(sizes.slice(30), busy)).toBeLessThan((busy(64) / 64) * 0.2);
  });

  it('stays useful when a machine becomes twenty times as slow under way', () => {
    const ms = (rows: number, batch: number): number => (batch < 20 ? busy(rows) / 20 : busy(rows));
    const sizes = sizesWith(ms, 200);
    expect(sizes[20]).toBe(4096);
    expect(Math.min(...sizes.slice(20))).toBeGreaterThanOrEqual(2048);
  });

  it('stays useful when all rows cost the same and there is nothing to gain', () => {
    const sizes = sizesWith((rows, batch) => (batch < 20 ? rows / 4 : rows * 5), 200);
    expect(sizes[20]).toBe(512);
    expect(Math.min(...sizes.slice(20))).toBeGreaterThanOrEqual(256);
    expect(sizes.slice(20).filter((rows) => rows >= 512).length).toBeGreaterThan(150);
  });

  it('stays useful where connections are waited for, because each batch waits', () => {
    const size = new BatchSize(bounds);
    const seen = Array.from({ length: 200 }, () => {
      size.committed({ rows: size.rows, ms: 150 + size.rows / 50, poolWaitMs: 150 });
      return size.rows;
    });
    expect(Math.min(...seen.slice(30))).toBeGreaterThanOrEqual(1024);
  });

  it('shrinks where larger batches take longer per row, until they do not', () => {
    const crowded = (rows: number): number => 0.002 * rows ** 1.6;
    const sizes = sizesWith((rows, batch) => (batch < 20 ? 1 : crowded(rows)), 200);
    expect(sizes[20]).toBe(10_000);
    const settled = sizes.slice(100);
    // Except for a rare trial whether larger ones have become faster.
    expect(settled.filter((rows) => crowded(rows) <= bounds.p50Ms).length).toBeGreaterThanOrEqual(90);
    expect(Math.max(...settled)).toBeLessThanOrEqual(2500);
  });

  it('does not stay small where each batch is near to its target because of what every batch costs', () => {
    const moderate = (rows: number): number => busy(rows) / 3;
    expect(moderate(64)).toBeGreaterThan(bounds.p50Ms / 2);
    expect(moderate(64)).toBeLessThan(bounds.p50Ms);
    expect(Math.min(...sizesWith(moderate, 200).slice(30))).toBeGreaterThanOrEqual(512);
  });

  it('does not drift to the minimum by the chance of a busy machine', () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = sequence(seed);
      const sizes = sizesWith((rows) => (busy(rows) / 3) * (1 + 4 * random()), 400).slice(100);
      expect(costPerRow(sizes, busy), `seed ${seed}`).toBeLessThan((busy(64) / 64) * 0.3);
    }
  });

  it('shrinks without a trial when a batch comes near to a deadline', () => {
    const sizes = sizesWith((rows, batch) => (batch < 20 ? 1 : rows * 10), 30);
    expect(sizes.slice(20, 25)).toEqual([10_000, 5000, 2500, 1250, 625]);
  });

  it('ignores batches that were gathered before the size was reduced', () => {
    const size = new BatchSize(bounds);
    for (let i = 0; i < 10; i += 1) size.committed({ rows: size.rows, ms: 10, poolWaitMs: 0 });
    size.failed();
    size.committed({ rows: 10_000, ms: 20_000, poolWaitMs: 0 });
    expect(size.rows).toBe(2500);
  });

  it('does not grow on batches that bytes cut short', () => {
    const size = new BatchSize(bounds);
    size.committed({ rows: 3, ms: 1, poolWaitMs: 0 });
    expect(size.rows).toBe(64);
  });

  it('stays within its bounds whatever happens', () => {
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

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BatchSize } from './batch-size.ts';

const bounds = { minRows: 64, maxRows: 10_000, p50Ms: 250, p95Ms: 1000 };

function sizesWith(msOf: (rows: number) => number, batches: number): number[] {
  const size = new BatchSize(bounds);
  const seen: number[] = [];
  for (let i = 0; i < batches; i += 1) {
    seen.push(size.rows);
    size.committed({ rows: size.rows, ms: msOf(size.rows), poolWaitMs: 1 });
  }
  return seen;
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

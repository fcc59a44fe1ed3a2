import { describe, expect, it } from 'vitest';
import { estimateRun } from './estimate-run.ts';

describe('an estimate before the start', () => {
  it('is the range of recent jobs', () => {
    const recent = [
      { rows: 100, runMs: 10_000, cost: 5 },
      { rows: 200, runMs: 10_000, cost: 20 },
      { rows: 0, runMs: 10, cost: 0 },
    ];
    expect(estimateRun(recent, [[9]])).toEqual({
      costPerRow: { low: 0.05, high: 0.1 },
      costFrom: 'jobs',
      costUnknownBecause: null,
      rowsPerSecond: { low: 10, high: 20 },
      speedUnknownBecause: null,
      jobs: 2,
    });
  });

  it('counts jobs by their rows: a few quick or dear rows do not widen it', () => {
    const usual = [
      { rows: 1000, runMs: 100_000, cost: 20 },
      { rows: 2000, runMs: 100_000, cost: 20 },
    ];
    const odd = [
      { rows: 3, runMs: 1, cost: 300 },
      { rows: 1, runMs: 60_000, cost: 0.0001 },
    ];
    expect(estimateRun([...odd, ...usual], null)).toMatchObject({
      costPerRow: { low: 0.01, high: 0.02 },
      rowsPerSecond: { low: 10, high: 20 },
      jobs: 4,
    });
  });

  it('is unknown with few rows, or as the pipeline declares', () => {
    const few = [{ rows: 3, runMs: 27, cost: 6 }];
    expect(estimateRun(few, null)).toMatchObject({
      costPerRow: null,
      rowsPerSecond: null,
      speedUnknownBecause: 'recent jobs of this pipeline had only 3 rows, at least 50 are needed',
    });
    expect(estimateRun(few, [[1]])).toMatchObject({ costPerRow: { low: 1, high: 1 }, costFrom: 'pipeline' });
    const enough = [...few, { rows: 47, runMs: 423, cost: 94 }];
    expect(estimateRun(enough, null)).toMatchObject({ costPerRow: { low: 2, high: 2 } });
  });

  it('takes the declared costs without recent ones: of the first paid phase, up to all phases', () => {
    expect(
      estimateRun(
        [],
        [
          [1, 2],
          [3, 4],
        ],
      ),
    ).toMatchObject({
      costPerRow: { low: 2, high: 5 },
      costFrom: 'pipeline',
      rowsPerSecond: null,
      speedUnknownBecause: expect.stringContaining('no job'),
    });
  });

  it('is unknown with the reason if nothing is declared, and absent for a free pipeline', () => {
    expect(estimateRun([], [[0]])).toMatchObject({
      costPerRow: null,
      costUnknownBecause: expect.stringContaining('declares no amount'),
    });
    expect(estimateRun([], null)).toMatchObject({ costPerRow: null, costUnknownBecause: null });
  });
});

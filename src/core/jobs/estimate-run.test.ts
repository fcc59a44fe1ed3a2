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

import { expect, test } from 'vitest';
import type { Usage } from '../../../src/contract/overview.ts';
import { sumUsage, usageCsv } from './usage-sums.ts';

const usage = (change: Partial<Usage>): Usage => ({
  ...{ day: '2026-01-01', ownerId: 'ada', pipeline: 'prices', costUnit: 'EUR' },
  ...{ jobs: 1, rows: 10, done: 8, failed: 2, cost: 0.5, lostCost: 0 },
  ...change,
});

test('amounts are added by key, but never across units', () => {
  const items = [usage({}), usage({ day: '2026-01-02', cost: 1 }), usage({ costUnit: 'tokens', cost: 300 })];
  const sums = sumUsage(items, ({ pipeline }) => pipeline!);
  expect(sums.map(({ first, rows, cost }) => [first.costUnit, rows, cost])).toEqual([
    ['EUR', 20, 1.5],
    ['tokens', 10, 300],
  ]);
});

test('names are quoted in CSV, and never run as a formula', () => {
  const csv = usageCsv([usage({ ownerId: '=1+1', pipeline: 'a,"b"', costUnit: null })]);
  expect(csv).toBe(
    `day,ownerId,pipeline,costUnit,jobs,rows,done,failed,cost,lostCost\r\n2026-01-01,'=1+1,"a,""b""",,1,10,8,2,0.5,0\r\n`,
  );
});

import { expect, test } from 'vitest';
import { placeAt, tipLines } from './chart-tip.ts';

test('a step holds until the next time', () => {
  const times = [10, 20, 30];
  expect([9, 10, 19.9, 20, 35].map((at) => placeAt(times, at, true))).toEqual([null, 0, 0, 1, 2]);
});

test('a line shows the nearest point', () => {
  expect([14, 16, 29, 40].map((at) => placeAt([10, 20, 30], at, false))).toEqual([0, 1, 2, 2]);
});

test('a tip has the time and each known value', () => {
  const lines = [
    { label: 'Finished', colour: '--accent', values: [5, 7] },
    { label: 'Failed', colour: '--bad', values: [1, null] },
  ];
  const drawn = { times: [10, 20], lines, format: (value: number) => `${value}/s` };
  expect(tipLines(drawn, 0).slice(1)).toEqual(['Finished 5/s', 'Failed 1/s']);
  expect(tipLines(drawn, 1).slice(1)).toEqual(['Finished 7/s']);
});

import { expect, test } from 'vitest';
import { LineLimit } from './line-limit.ts';

test('ten lines of a kind are written in ten seconds, and the next one reports how many were left out', () => {
  const limit = new LineLimit();
  const taken = Array.from({ length: 25 }, (_, at) => limit.take('flush rolled back', at * 100));
  expect(taken.filter((omitted) => omitted === 0)).toHaveLength(10);
  expect(taken.filter((omitted) => omitted === null)).toHaveLength(15);
  expect(limit.take('flush rolled back', 10_000)).toBe(15);
  expect(limit.take('flush rolled back', 20_000)).toBe(0);
});

test('lines of one kind do not suppress lines of another', () => {
  const limit = new LineLimit();
  for (let at = 0; at < 20; at += 1) limit.take('flush rolled back', at);
  expect(limit.take('lease lost', 20)).toBe(0);
});

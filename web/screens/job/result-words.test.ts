import { describe, expect, it } from 'vitest';
import { resultWords } from './result-words.ts';

const text = (...given: Parameters<typeof resultWords>): string => {
  const { parts, effort } = resultWords(...given);
  return [...parts.map((part) => part.text), effort].join(', ');
};

describe('the result of a job in words', () => {
  it('names rows by status, cost and time', () => {
    const counts = { DONE: 4527, NOT_FOUND: 242, ERROR: 231, PENDING: 0 };
    expect(text(counts, 56.47, 14 * 60_000 + 12_000)).toBe(
      '4,527 done, 242 not found, 231 failed, 56.47 in 14 min',
    );
  });

  it('leaves out statuses without rows, and an unknown cost', () => {
    expect(text({ DONE: 3, ERROR: 0 }, 0, 4000)).toBe('3 done, in 4 s');
    expect(text({ CANCELLED: 2 }, 0, null)).toBe('2 cancelled, ');
  });
});

import { describe, expect, it } from 'vitest';
import { restartDelayMs } from './restart-delay.ts';

describe('the delay before a worker process is replaced', () => {
  it('is 0 for the first deaths, which isolate a poison item', () => {
    for (const quickDeaths of [0, 1, 10, 20])
      expect(restartDelayMs({ failedStarts: 0, quickDeaths }, 0.5)).toBe(0);
  });

  it('doubles with each failed start, up to a bound', () => {
    const delays = [1, 2, 3, 6, 7, 2000].map((failedStarts) =>
      restartDelayMs({ failedStarts, quickDeaths: 0 }, 1),
    );
    expect(delays).toEqual([200, 400, 800, 6400, 10_000, 10_000]);
    expect(restartDelayMs({ failedStarts: 0, quickDeaths: 22 }, 1)).toBe(400);
  });

  it('is spread, so that workers do not all return at the same time, and never 0', () => {
    expect(restartDelayMs({ failedStarts: 3, quickDeaths: 0 }, 0)).toBe(400);
    expect(restartDelayMs({ failedStarts: 3, quickDeaths: 0 }, 0.5)).toBe(600);
  });
});

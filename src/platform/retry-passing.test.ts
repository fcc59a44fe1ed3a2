import { describe, expect, it, vi } from 'vitest';
import { retryPassing } from './retry-passing.ts';

const passing = Object.assign(new Error('deadlock detected'), { code: '40P01' });
const data = Object.assign(new Error('duplicate key'), { code: '23505' });
const AT_ONCE = { baseMs: 0 };

/** Fails with these errors, one per call, then succeeds. */
function failing(...errors: Error[]) {
  return vi.fn(async () => {
    const error = errors.shift();
    if (error) throw error;
    return 'done';
  });
}

describe('work that fails with a passing error', () => {
  it('is retried until it succeeds', async () => {
    const work = failing(passing, passing);
    const onRetry = vi.fn();
    await expect(retryPassing(work, { ...AT_ONCE, onRetry })).resolves.toBe('done');
    expect(work).toHaveBeenCalledTimes(3);
    expect(onRetry.mock.calls).toEqual([
      [passing, 1],
      [passing, 2],
    ]);
  });

  it('fails with its own error after the last attempt', async () => {
    const work = failing(...Array<Error>(20).fill(passing));
    await expect(retryPassing(work, { ...AT_ONCE, attempts: 4 })).rejects.toBe(passing);
    expect(work).toHaveBeenCalledTimes(4);
  });

  it('is not retried after the signal fires', async () => {
    const stopping = new AbortController();
    const work = failing(passing, passing, passing);
    const onRetry = vi.fn(() => stopping.abort());
    await expect(retryPassing(work, { ...AT_ONCE, signal: stopping.signal, onRetry })).rejects.toBe(passing);
    expect(onRetry).toHaveBeenCalledTimes(1);
  });

  it('stops waiting when the signal fires', async () => {
    const stopping = new AbortController();
    const anHour = { baseMs: 3_600_000, capMs: 3_600_000 };
    const work = failing(passing, passing);
    const running = retryPassing(work, {
      ...anHour,
      signal: stopping.signal,
      onRetry: () => queueMicrotask(() => stopping.abort()),
    });
    await expect(running).rejects.toBe(passing);
  });
});

describe('work that fails with another error', () => {
  it.each([
    ['bad data', data],
    ['a mistake', new TypeError('x')],
  ])('is not retried: %s', async (_, error) => {
    const work = failing(error);
    await expect(retryPassing(work, AT_ONCE)).rejects.toBe(error);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('is not retried when a later attempt fails with another error', async () => {
    const work = failing(passing, data, passing);
    await expect(retryPassing(work, AT_ONCE)).rejects.toBe(data);
    expect(work).toHaveBeenCalledTimes(2);
  });
});

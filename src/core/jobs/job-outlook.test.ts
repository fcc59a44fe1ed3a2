import { describe, expect, it } from 'vitest';
import { type JobOutlook, mayHaveWork, nextSliceInMs } from './job-outlook.ts';

const outlook = (given: Partial<JobOutlook>): JobOutlook => ({
  state: 'RUNNING',
  sealed: true,
  hasSpans: true,
  readyInMs: null,
  leaseEndsInMs: null,
  fileInMs: null,
  finalizeInMs: 0,
  ...given,
});

describe('the next slice', () => {
  it.each([
    ['at once: something is ready', { readyInMs: 0 }, 0],
    ['when the first retry is ready, however late', { readyInMs: 90_000.2 }, 90_001],
    ['after a look: another process holds the rest', { leaseEndsInMs: 30_000 }, 2000],
    ['when the lease of another process ends soon', { leaseEndsInMs: 300, readyInMs: 5000 }, 300],
    ['never by itself: the rest is held', {}, null],
    ['never by itself: paused', { state: 'PAUSED', readyInMs: 0 }, null],
    ['never: finished', { state: 'DONE', hasSpans: false }, null],
    ['at once: nothing is left but the end', { hasSpans: false }, 0],
    ['never by itself: nothing was added yet', { state: 'INGESTING', sealed: false, hasSpans: false }, null],
    ['at once: a file nobody reads', { state: 'INGESTING', sealed: false, fileInMs: 0 }, 0],
    ['after a look: another process reads', { state: 'INGESTING', sealed: false, fileInMs: 9000 }, 2000],
    ['at once: a cancellation that nobody carries on', { state: 'CANCELLING' }, 0],
    [
      'when the ending may be tried again',
      { state: 'FINALIZING', hasSpans: false, finalizeInMs: 700.5 },
      701,
    ],
  ] as const)('is of use %s', (_, given, expected) => {
    expect(nextSliceInMs(outlook(given), 2000)).toBe(expected);
  });
});

describe('a slice with nothing to do', () => {
  it.each([
    ['waits for a retry that comes in time', { readyInMs: 400 }, true],
    ['does not wait for one that comes too late', { readyInMs: 600 }, false],
    ['waits for what others hold', { leaseEndsInMs: 30_000 }, true],
    ['waits for items of a job that is not sealed', { state: 'INGESTING', sealed: false }, true],
    ['does not wait for what a trial holds', {}, false],
    ['does not wait when the job was paused', { state: 'PAUSED', readyInMs: 0 }, false],
  ] as const)('%s', (_, given, expected) => {
    expect(mayHaveWork(outlook(given), 500)).toBe(expected);
  });
});

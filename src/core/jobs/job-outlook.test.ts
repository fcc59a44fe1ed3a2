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
    ['now: an item is ready', { readyInMs: 0 }, 0],
    ['when the first retry is ready, even if that is late', { readyInMs: 90_000.2 }, 90_001],
    ['after the polling interval: another process holds the rest', { leaseEndsInMs: 30_000 }, 2000],
    ['when the lease of another process ends soon', { leaseEndsInMs: 300, readyInMs: 5000 }, 300],
    ['not without an action: the rest is held', {}, null],
    ['not without an action: paused', { state: 'PAUSED', readyInMs: 0 }, null],
    ['never: finished', { state: 'DONE', hasSpans: false }, null],
    ['now: only the finalizing is left', { hasSpans: false }, 0],
    ['not without an action: no items yet', { state: 'INGESTING', sealed: false, hasSpans: false }, null],
    ['now: no process reads the file', { state: 'INGESTING', sealed: false, fileInMs: 0 }, 0],
    [
      'after the polling interval: another process reads',
      { state: 'INGESTING', sealed: false, fileInMs: 9000 },
      2000,
    ],
    ['now: an unfinished cancellation', { state: 'CANCELLING' }, 0],
    ['when finalizing may be retried', { state: 'FINALIZING', hasSpans: false, finalizeInMs: 700.5 }, 701],
  ] as const)('is worthwhile %s', (_, given, expected) => {
    expect(nextSliceInMs(outlook(given), 2000)).toBe(expected);
  });
});

describe('a slice with nothing to do', () => {
  it.each([
    ['waits for a retry that is ready in time', { readyInMs: 400 }, true],
    ['does not wait for one that is ready too late', { readyInMs: 600 }, false],
    ['waits for items that other processes hold', { leaseEndsInMs: 30_000 }, true],
    ['waits for items of a job that is not sealed', { state: 'INGESTING', sealed: false }, true],
    ['does not wait for items held by a trial', {}, false],
    ['does not wait when the job was paused', { state: 'PAUSED', readyInMs: 0 }, false],
  ] as const)('%s', (_, given, expected) => {
    expect(mayHaveWork(outlook(given), 500)).toBe(expected);
  });
});

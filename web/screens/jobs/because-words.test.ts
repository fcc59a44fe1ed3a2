import { expect, test } from 'vitest';
import { becauseWords } from './because-words.ts';

type Job = Parameters<typeof becauseWords>[0];
const JOB: Job = { state: 'RUNNING', pausedBecause: null, blockedBecause: null, lastError: null, held: 0 };
const words = (job: Partial<Job>, counts: Record<string, number> = {}, state = job.state ?? JOB.state) =>
  becauseWords({ ...JOB, ...job }, { counts, state });

test('a job shows why it failed, paused, or waits for a worker or for approval of its test run', () => {
  expect(words({ state: 'FAILED', lastError: 'the file ends early' })).toBe('the file ends early');
  expect(words({ state: 'PAUSED', pausedBecause: 'budget of 2 reached: 2 spent' })).toBe(
    'budget of 2 reached: 2 spent',
  );
  const blocked = { blockedBecause: 'no worker is running' };
  expect(words({ state: 'QUEUED', ...blocked }, { PENDING: 3 })).toBe('no worker is running');
  expect(words({ held: 1950 }, { PENDING: 1950, DONE: 50 })).toBe('Test run finished — 1,950 rows waiting');
  expect(words({ held: 1 }, { PENDING: 1 })).toBe('Test run finished — 1 row waiting');
});

test('a job that runs or is finished shows no reason', () => {
  expect(words({}, { PENDING: 5, PROCESSING: 2 })).toBeNull();
  expect(words({ held: 5 }, { PENDING: 7 })).toBeNull();
  expect(words({ held: 5 }, { PENDING: 5, PROCESSING: 1 })).toBeNull();
  expect(words({ state: 'PAUSED' }, { PENDING: 5 })).toBeNull();
  expect(words({ state: 'CANCELLING', held: 5 }, { PENDING: 5 })).toBeNull();
  expect(words({ state: 'DONE', lastError: 'an upload of its files failed once' })).toBeNull();
});

test('a newer event overrides the listed job', () => {
  const blocked: Partial<Job> = { state: 'QUEUED', blockedBecause: 'no worker is running' };
  expect(words(blocked, { PENDING: 3, PROCESSING: 1 }, 'RUNNING')).toBeNull();
  expect(words(blocked, { PENDING: 3 }, 'RUNNING')).toBeNull();
  expect(words(blocked, {}, 'DONE')).toBeNull();
});

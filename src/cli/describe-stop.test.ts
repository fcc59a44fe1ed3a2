import { expect, test } from 'vitest';
import { isUsedUp } from '../core/limits/budget-control.ts';
import type { BudgetStatus } from '../store/views/limits/read-budgets.ts';
import { commandsToContinue, describeStop, reachedBudget } from './describe-stop.ts';
import { exitCodeOf } from './exit-codes.ts';
import type { ShownJob } from './remote/job-port.ts';

const COUNTS = { PENDING: 12, PROCESSING: 0, DONE: 8, ERROR: 0, NOT_FOUND: 0, SKIPPED: 0, CANCELLED: 0 };
const jobWith = (given: object): ShownJob =>
  ({
    jobId: 'j',
    ownerId: 'anna',
    costUnit: 'EUR',
    state: 'PAUSED',
    pausedBecause: null,
    itemCount: 20,
    held: 0,
    cost: 4,
    budgets: [],
    counts: COUNTS,
    ...given,
  }) as unknown as ShownJob;
const budget = (scope: BudgetStatus['scope'], given: Partial<BudgetStatus> = {}): BudgetStatus => ({
  scope,
  max: 4,
  spent: 4,
  lost: 0,
  reserved: 0,
  ...given,
});
const resume = ['run', 'p.ts', '--resume', 'j'];

test('a job that a person paused, or a test run holds, resumes without other commands', () => {
  const paused = jobWith({ budgets: [budget('job')] });
  expect(describeStop(paused)).toBe('Job j is paused; 12 of 20 rows are left');
  expect(commandsToContinue(paused, resume)).toEqual([resume]);
  const trial = jobWith({ state: 'RUNNING', held: 1 });
  expect(describeStop(trial)).toBe('Job j has 1 row on hold');
  expect(commandsToContinue(trial, resume)).toEqual([resume]);
});

test.each([
  ['its own', 'job', 'budget of €4.00 reached: €4.00 spent', [[...resume, '--budget', '10']]],
  [
    "its owner's",
    'owner',
    'budget of owner anna of 4 reached: 4 spent',
    [['owners', 'set', 'anna', '--budget', '10'], resume],
  ],
  [
    'its daily',
    'day',
    'budget per day of owner anna of 4 reached: 4 spent',
    [['owners', 'set', 'anna', '--budget-per-day', '10'], resume],
  ],
] as const)(
  'a job that reached %s budget resumes after that budget is raised',
  (_, scope, pausedBecause, commands) => {
    const job = jobWith({ pausedBecause, budgets: [budget(scope)] });
    expect(commandsToContinue(job, resume)).toEqual(commands);
    // Over a server no command changes the budgets of owners.
    expect(commandsToContinue(job, resume, 'api')).toHaveLength(1);
  },
);

test('raises a budget that is too small for the next call, but not one that was raised or is of another day', () => {
  const pausedBecause = 'budget of €4.00 reached: €3.90 spent; the next call is estimated at €0.50';
  const short = budget('job', { spent: 3.9 });
  expect(reachedBudget(jobWith({ pausedBecause, budgets: [short] }))).toBe(short);
  expect(isUsedUp(short)).toBe(false);
  expect(reachedBudget(jobWith({ pausedBecause, budgets: [budget('job', { max: 8 })] }))).toBe(null);
  const ofDay = 'budget per day of owner anna of 4 reached: 4 spent';
  const tomorrow = [budget('day', { spent: 0 })];
  expect(reachedBudget(jobWith({ pausedBecause: ofDay, budgets: tomorrow }))).toBe(null);
});

test.each([
  ['0 when every row succeeded', 'over', { state: 'DONE' }, {}, 0],
  ['3 when rows failed', 'over', { state: 'DONE', counts: { ...COUNTS, ERROR: 1 } }, {}, 3],
  ['1 when the job failed', 'over', { state: 'FAILED' }, {}, 1],
  ['4 when it was cancelled', 'over', { state: 'CANCELLED' }, {}, 4],
  ['4 when a person paused it', 'waits', {}, {}, 4],
  ['4 when a budget paused it', 'waits', { pausedBecause: 'budget of 4 reached' }, { hold: true }, 4],
  ['4 when a budget paused a test run', 'waits', { pausedBecause: 'budget of 4 reached' }, { trial: 5 }, 4],
  ['4 when rows are on hold since an earlier command', 'waits', { state: 'RUNNING', held: 12 }, {}, 4],
  ['0 when it is held as this command asked', 'waits', {}, { hold: true }, 0],
  ['0 when its test run finished', 'waits', { state: 'RUNNING', held: 12 }, { trial: 8 }, 0],
  [
    '3 when rows of its test run failed',
    'waits',
    { state: 'RUNNING', held: 12, counts: { ...COUNTS, ERROR: 1 } },
    { trial: 8 },
    3,
  ],
  ['130 after Ctrl-C', 'stopped', { state: 'RUNNING' }, {}, 130],
] as const)('a command that followed a job exits with %s', (_, how, given, asked, code) => {
  expect(exitCodeOf({ how, job: jobWith(given) }, asked)).toBe(code);
});

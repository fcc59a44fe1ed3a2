import { describe, expect, it } from 'vitest';
import {
  CLAIMABLE_STATES,
  canControl,
  isFinished,
  JOB_STATES,
  type JobState,
  TRANSITIONS,
} from './job-state.ts';

function canMove(before: JobState, after: JobState): boolean {
  return Object.values<{ from: readonly JobState[]; to: readonly JobState[] }>(TRANSITIONS).some(
    ({ from, to }) => from.includes(before) && to.includes(after),
  );
}

function movesFrom(from: JobState): JobState[] {
  return JOB_STATES.filter((to) => canMove(from, to));
}

function reachableFrom(start: JobState): Set<JobState> {
  const seen = new Set<JobState>([start]);
  for (const from of seen) for (const to of movesFrom(from)) seen.add(to);
  return seen;
}

describe('the state of a job', () => {
  it('can reach every other state', () => {
    expect(reachableFrom('INGESTING')).toEqual(new Set(JOB_STATES));
  });

  it.each(JOB_STATES)('can reach a finished state from %s', (state) => {
    expect([...reachableFrom(state)].some(isFinished)).toBe(true);
  });

  it.each(JOB_STATES)('never moves from %s to itself', (state) => {
    expect(canMove(state, state)).toBe(false);
  });

  it('can be cancelled as long as it is not finished', () => {
    for (const state of JOB_STATES.filter((each) => each !== 'CANCELLING'))
      expect(canMove(state, 'CANCELLING')).toBe(!isFinished(state));
  });

  it('leaves a finished state only by a rerun', () => {
    for (const state of JOB_STATES.filter(isFinished)) expect(movesFrom(state)).toEqual(['QUEUED']);
  });

  it('is done only after it was finalized', () => {
    expect(JOB_STATES.filter((state) => canMove(state, 'DONE'))).toEqual(['FINALIZING']);
  });

  it('is finalized only once its ingest is over', () => {
    expect(canMove('INGESTING', 'FINALIZING')).toBe(false);
    expect(canMove('PAUSED', 'FINALIZING')).toBe(false);
  });

  it('can be paused exactly when items can be claimed', () => {
    for (const state of JOB_STATES) expect(canMove(state, 'PAUSED')).toBe(CLAIMABLE_STATES.includes(state));
  });

  it('is changed by its owner only along the table of transitions', () => {
    const targets: [Parameters<typeof canControl>[0], JobState[]][] = [
      ['pause', ['PAUSED']],
      ['resume', ['INGESTING', 'QUEUED', 'RUNNING']],
      ['cancel', ['CANCELLING']],
    ];
    for (const [action, to] of targets)
      for (const from of JOB_STATES)
        expect(canControl(action, from), `${action} ${from}`).toBe(to.every((state) => canMove(from, state)));
  });

  it('is cancelled only after it was finalized', () => {
    expect(JOB_STATES.filter((state) => canMove(state, 'CANCELLED'))).toEqual(['FINALIZING']);
  });

  // store/commands/jobs/seal-job.ts makes this transition if a worker started before the file was read completely.
  it('may go from ingesting to running at the seal', () => {
    expect(canMove('INGESTING', 'RUNNING')).toBe(true);
  });
});

// Lists of job states as SQL constants, and the states before each transition, all derived from
// core/jobs/job-state.ts.
import {
  CLAIMABLE_STATES,
  COMPLETABLE_STATES,
  FINISHED_STATES,
  INGEST_STATES,
  type JobState,
  OPEN_STATES,
  TRANSITIONS,
  type Transition,
} from '../core/jobs/job-state.ts';

const listOf = (states: readonly JobState[]): string => `(${states.map((state) => `'${state}'`).join(', ')})`;

export const CLAIMABLE = listOf(CLAIMABLE_STATES);
export const COMPLETABLE = listOf(COMPLETABLE_STATES);
export const FINISHED = listOf(FINISHED_STATES);
export const INGESTIBLE = listOf(INGEST_STATES);
export const OPEN = listOf(OPEN_STATES);

/** The condition of a statement that performs this transition. */
export function canGo(transition: Transition, column = 'state'): string {
  const from: readonly JobState[] = TRANSITIONS[transition].from;
  return from.length === 1 ? `${column} = '${from[0]}'` : `${column} in ${listOf(from)}`;
}

// Actions on error groups, and when the state of a job allows them.
import { canRerun } from '../../../lib/job.ts';

export type GroupAction = 'retry' | 'edit' | 'skip';

export interface GroupAllowance {
  canRun: boolean;
  /** Groups are edited or skipped only while no row of the job is waiting. */
  canChange: boolean;
}

export function groupAllowance(state: string): GroupAllowance {
  const canRun = canRerun(state);
  return { canRun, canChange: canRun && state !== 'PAUSED' };
}

// Jobs that need a person, in words: of the overview, and of the filter of the list.
import type { JobNeed } from '../../../src/core/jobs/job-need.ts';
import { formatCount } from '../../lib/format.ts';

const WORDS: Record<JobNeed, (jobs: string, isOne: boolean) => string> = {
  failed: (jobs) => `${jobs} failed in the last 7 days`,
  budget: (jobs) => `${jobs} paused by a budget`,
  failedRows: (jobs) => `${jobs} with failed rows in the last 7 days`,
  stuck: (jobs) => `${jobs} stuck: rows could run, but none finishes`,
  worker: (jobs, isOne) => `${jobs} waiting for a worker that runs ${isOne ? 'its' : 'their'} pipeline`,
};

export function needWords(need: JobNeed, count: number): string {
  return WORDS[need](`${formatCount(count)} ${count === 1 ? 'job' : 'jobs'}`, count === 1);
}

/** Without a number, for the filter: "Jobs paused by a budget". */
export function needTitle(need: JobNeed): string {
  return WORDS[need]('Jobs', false);
}

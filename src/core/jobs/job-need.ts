/**
 * Reasons why a job needs a person. `failed`: it failed lately. `budget`: a budget paused it. `failedRows`: it finished
 * lately, and rows of it failed. `stuck`: `job.stuck` was reported, and nothing has moved since. `worker`: rows wait, and
 * no running worker has its pipeline.
 */
export const JOB_NEEDS = ['failed', 'budget', 'failedRows', 'stuck', 'worker'] as const;
export type JobNeed = (typeof JOB_NEEDS)[number];

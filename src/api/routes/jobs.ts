// Jobs: made, looked at, changed, removed.
import { jobRoutes } from '../../contract/jobs.ts';
import type { Handlers } from '../handler.ts';
import { makeJob } from '../make-job.ts';
import { previewJob } from '../preview-job.ts';
import { unbuilt } from './unbuilt.ts';

export const jobHandlers: Handlers<typeof jobRoutes> = {
  ...unbuilt(jobRoutes),
  createJob: makeJob,
  previewJob,
};

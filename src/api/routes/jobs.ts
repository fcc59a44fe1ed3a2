import { jobRoutes } from '../../contract/jobs.ts';
import type { Handlers } from '../handler.ts';
import { readJobHandlers } from '../read-jobs.ts';
import { unbuilt } from './unbuilt.ts';

export const jobHandlers: Handlers<typeof jobRoutes> = { ...unbuilt(jobRoutes), ...readJobHandlers };

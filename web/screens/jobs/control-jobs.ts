// Pauses, resumes or cancels many jobs, one request each, and reports failures.
import { type ControlAction, canControl } from '../../../src/core/jobs/job-state.ts';
import { say, sayError } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import type { ListedJob } from './job-table.tsx';

export type BulkAction = Exclude<ControlAction, 'reprocess'>;

const AT_ONCE = 5;
const DONE_WORDS: Record<BulkAction, string> = {
  pause: 'Paused',
  resume: 'Resumed',
  cancel: 'Cancelling',
};

export function actionable(action: BulkAction, jobs: readonly ListedJob[]): ListedJob[] {
  return jobs.filter(({ state }) => canControl(action, state));
}

export async function controlJobs(action: BulkAction, jobs: readonly ListedJob[]): Promise<void> {
  const left = actionable(action, jobs);
  const changed: ListedJob[] = [];
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let job = left.shift(); job; job = left.shift())
      await control(action, job.jobId).then(
        () => changed.push(job),
        (error: unknown) => failures.push(error),
      );
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  void queries.invalidateQueries({ queryKey: ['jobs'] });
  if (changed.length > 0)
    say(`${DONE_WORDS[action]} ${changed.length} ${changed.length === 1 ? 'job' : 'jobs'}`, {
      ...(action === 'pause' && { undo: () => void undoPause(changed) }),
    });
  if (failures.length > 0) sayError(failures[0]);
}

async function undoPause(jobs: readonly ListedJob[]): Promise<void> {
  await controlJobs(
    'resume',
    jobs.map((job) => ({ ...job, state: 'PAUSED' as const })),
  );
}

function control(action: BulkAction, jobId: string): Promise<unknown> {
  if (action === 'pause') return client.pauseJob({ jobId });
  return action === 'resume' ? client.resumeJob({ jobId }) : client.cancelJob({ jobId });
}

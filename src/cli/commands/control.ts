// rowmill jobs pause, resume and cancel (docs/control.md).
import type { ControlAction } from '../../core/jobs/job-state.ts';
import { type BudgetOptions, changeBudget, continueJob } from '../continue-job.ts';
import { rows } from '../describe-stop.ts';
import { printedCommand } from '../printed-command.ts';
import { printable } from '../progress-lines.ts';
import { chooseTarget, type TargetOptions } from '../remote/choose-target.ts';
import type { JobPort } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';

/** Actions that need only the job. */
export type SimpleAction = Exclude<ControlAction, 'reprocess'>;

/** Only resume takes budgets. */
interface ControlOptions extends TargetOptions, BudgetOptions {
  json?: boolean;
}

export async function controlJob(
  action: SimpleAction,
  prefix: string,
  options: ControlOptions,
): Promise<number> {
  return withPort(options, async (port) => {
    const { jobId } = await port.findJob(prefix);
    await changeBudget(port, jobId, options);
    const { done, state } = await ACTIONS[action](port, jobId, options);
    if (options.json) console.log(JSON.stringify({ jobId, action, state }));
    else console.log(`Job ${jobId} ${done} (${state})`);
    if (action === 'resume') await sayIfBlocked(port, jobId, options);
    return 0;
  });
}

/** Prints a note if no running worker can run the resumed job. */
async function sayIfBlocked(port: JobPort, jobId: string, options: ControlOptions): Promise<void> {
  const { blockedBecause, pipeline } = await port.job(jobId);
  if (blockedBecause === null) return;
  const module = `<module of ${printable(pipeline)}>`;
  console.error(`note: ${printable(blockedBecause)}`);
  if (chooseTarget(options).kind === 'api') return;
  const here = printedCommand(['run', module, '--resume', jobId], options);
  console.error(`  Start a worker, or run the job here: ${here}`);
}

type Action = (
  port: JobPort,
  jobId: string,
  where: TargetOptions,
) => Promise<{ done: string; state: string }>;

const ACTIONS: Record<SimpleAction, Action> = {
  async pause(port, jobId) {
    const { changed, state } = await port.pause(jobId);
    return { done: changed ? 'is paused' : 'was already paused', state };
  },
  async resume(port, jobId, where) {
    const { released, state } = await continueJob(port, jobId, { words: ['jobs', 'resume', jobId], where });
    return {
      done: released > 0 ? `is resumed with ${rows(released)} that were on hold` : 'is resumed',
      state,
    };
  },
  async cancel(port, jobId) {
    const { changed, state } = await port.cancel(jobId);
    const { CANCELLED } = (await port.job(jobId)).counts;
    const done = `${changed ? 'is cancelled' : 'was already cancelled'}: ${rows(CANCELLED)} had no result`;
    return { done, state };
  },
};

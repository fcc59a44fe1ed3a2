// rowmill pause, resume and cancel: what an owner may ask of a job (docs/control.md).
import type { ControlAction } from '../../core/job-state.ts';
import { formatCount } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { JobPort } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';

/** Actions that need nothing but the job. */
export type SimpleAction = Exclude<ControlAction, 'reprocess'>;

export interface ControlOptions extends TargetOptions {
  json?: boolean;
  /** What the job, or each of its items, may cost from now on; with resume. */
  budget?: number;
  budgetPerItem?: number;
}

export async function controlJob(
  action: SimpleAction,
  prefix: string,
  options: ControlOptions,
): Promise<number> {
  return withPort(options, async (port) => {
    const { jobId } = await port.findJob(prefix);
    const { budget: max, budgetPerItem: perItem } = options;
    if (max !== undefined || perItem !== undefined)
      await port.setBudget(jobId, {
        ...(max !== undefined && { max }),
        ...(perItem !== undefined && { perItem }),
      });
    const { done, state } = await ACTIONS[action](port, jobId);
    if (options.json) console.log(JSON.stringify({ jobId, action, state }));
    else console.log(`job ${jobId} ${done} (${state})`);
    return 0;
  });
}

type Action = (port: JobPort, jobId: string) => Promise<{ done: string; state: string }>;

const ACTIONS: Record<SimpleAction, Action> = {
  async pause(port, jobId) {
    const { changed, state } = await port.pause(jobId);
    return { done: changed ? 'is paused' : 'was paused already', state };
  },
  async resume(port, jobId) {
    const { released, state } = await port.resume(jobId);
    return {
      done: released > 0 ? `goes on with ${formatCount(released)} rows that were held` : 'goes on',
      state,
    };
  },
  async cancel(port, jobId) {
    const { changed, state } = await port.cancel(jobId);
    const { CANCELLED } = (await port.job(jobId)).counts;
    const done = `${changed ? 'is cancelled' : 'was cancelled already'}: ${formatCount(CANCELLED)} rows had no result`;
    return { done, state };
  },
};

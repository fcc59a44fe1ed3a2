// rowmill pause, resume and cancel: what an owner may ask of a job (docs/control.md).
import type { ControlAction } from '../../core/job-state.ts';
import { openRowmill, type Rowmill } from '../../open-rowmill.ts';
import { findJob } from '../find-job.ts';
import { commandSettings, openServer, type ServerOptions } from '../open-server.ts';
import { formatCount } from '../progress-lines.ts';

/** Actions that need nothing but the job. */
type SimpleAction = Exclude<ControlAction, 'reprocess'>;

export const CONTROL_COMMANDS: readonly (readonly [SimpleAction, string])[] = [
  ['pause', 'start nothing more of a job; what runs ends and is kept'],
  ['resume', 'go on with a paused job, or release the rest of a trial'],
  ['cancel', 'end a job: what has no result is cancelled, and the rest is kept'],
];

export interface ControlOptions extends ServerOptions {
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
  const server = await openServer(options, () => {});
  const rowmill = await openRowmill({ databaseUrl: server.url, settings: commandSettings(options) });
  try {
    const { jobId } = await findJob(rowmill, prefix);
    const { budget: max, budgetPerItem: perItem } = options;
    if (max !== undefined || perItem !== undefined)
      await rowmill.setBudget(
        jobId,
        { ...(max !== undefined && { max }), ...(perItem !== undefined && { perItem }) },
        { actor: 'command line' },
      );
    const done = await ACTIONS[action](rowmill, jobId);
    const { state } = await rowmill.job(jobId);
    if (options.json) console.log(JSON.stringify({ jobId, action, state }));
    else console.log(`job ${jobId} ${done} (${state})`);
    return 0;
  } finally {
    await rowmill.close();
    await server.stop();
  }
}

const ACTIONS: Record<SimpleAction, (rowmill: Rowmill, jobId: string) => Promise<string>> = {
  pause: async (rowmill, jobId) => ((await rowmill.pause(jobId)) ? 'is paused' : 'was paused already'),
  async resume(rowmill, jobId) {
    const { released } = await rowmill.resume(jobId);
    return released > 0 ? `goes on with ${formatCount(released)} rows that were held` : 'goes on';
  },
  async cancel(rowmill, jobId) {
    const began = await rowmill.cancel(jobId);
    const { CANCELLED } = (await rowmill.progress(jobId)).counts;
    return `${began ? 'is cancelled' : 'was cancelled already'}: ${formatCount(CANCELLED)} rows had no result`;
  },
};

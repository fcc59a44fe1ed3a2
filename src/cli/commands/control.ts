// rowmill jobs pause, resume, cancel, keep and delete (docs/control.md).

import { type ControlAction, isFinished } from '../../core/jobs/job-state.ts';
import { canAsk, confirm, type ConfirmOptions } from '../confirm.ts';
import { type BudgetOptions, changeBudget, continueJob } from '../continue-job.ts';
import { describeRetention } from '../describe-retention.ts';
import { rows } from '../describe-stop.ts';
import { printedCommand } from '../printed-command.ts';
import { formatCount, printable } from '../progress-lines.ts';
import { chooseTarget, type TargetOptions } from '../remote/choose-target.ts';
import type { JobPort, ShownJob } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';

/** Actions that need only the job. */
export type SimpleAction = Exclude<ControlAction, 'reprocess'>;

/** Only resume takes budgets. */
interface ControlOptions extends TargetOptions, BudgetOptions, ConfirmOptions {
  json?: boolean;
}

export async function controlJob(
  action: SimpleAction,
  prefix: string,
  options: ControlOptions,
): Promise<number> {
  return withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    const { jobId } = job;
    if (action === 'cancel') await confirmCancel(job, options);
    await changeBudget(port, jobId, options);
    const { done, state } = await ACTIONS[action](port, jobId, options);
    if (options.json) console.log(JSON.stringify({ jobId, action, state }));
    else console.log(`Job ${jobId} ${done} (${state})`);
    if (action === 'resume') await sayIfBlocked(port, jobId, options);
    return 0;
  });
}

/** Without a terminal it only prints a note, because scripts of this version call it without --yes. */
async function confirmCancel(job: ShownJob, options: ControlOptions): Promise<void> {
  const { counts, state } = job;
  if (options.yes || isFinished(state)) return;
  if (!canAsk())
    return console.error('note: without a terminal, the next version of this command needs --yes');
  const ended = job.itemCount - counts.PENDING - counts.PROCESSING;
  await confirm(
    `Cancel ${named(job)}?`,
    `${rows(counts.PENDING)} waiting and ${rows(counts.PROCESSING)} running get no result. ${rows(ended)} finished and keep their results.`,
    options,
  );
}

export async function keepJobOf(
  prefix: string,
  options: TargetOptions & { json?: boolean; for: number | 'default' },
): Promise<number> {
  return withPort(options, async (port) => {
    const { jobId } = await port.findJob(prefix);
    await port.keep(jobId, options.for === 'default' ? null : options.for);
    const { retention } = await port.job(jobId);
    if (options.json) console.log(JSON.stringify({ jobId, retention }));
    else console.log(`Job ${jobId} is ${describeRetention(retention)}`);
    return 0;
  });
}

export async function deleteJobOf(prefix: string, options: ControlOptions): Promise<number> {
  return withPort(options, async (port) => {
    const job = await port.findJob(prefix);
    const { jobId, itemCount, counts, state } = job;
    if (isFinished(state))
      await confirm(
        `Delete ${named(job)}?`,
        `Its ${rows(itemCount)}, ${formatCount(itemCount - counts.CANCELLED)} of them with a result, and its files are removed and cannot be restored.`,
        options,
      );
    await port.delete(jobId);
    if (options.json) console.log(JSON.stringify({ jobId, deleted: true }));
    else console.log(`Job ${jobId} is deleted with ${rows(itemCount)} and their results`);
    return 0;
  });
}

function named({ jobId, pipeline, name }: ShownJob): string {
  return `job ${jobId} (${printable(pipeline)}, ${printable(name)})`;
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

// Lifts what a job waits for: a pause, a trial, or a budget that was reached and is raised.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { commandsToContinue, isSpent, reachedBudget } from './describe-stop.ts';
import { printedCommand } from './printed-command.ts';
import { printable } from './progress-lines.ts';
import { chooseTarget, type TargetOptions } from './remote/choose-target.ts';
import type { Controlled, JobPort } from './remote/job-port.ts';

export interface BudgetOptions {
  budget?: number;
  budgetPerItem?: number;
}

export async function changeBudget(
  port: Pick<JobPort, 'setBudget'>,
  jobId: string,
  { budget: max, budgetPerItem: perItem }: BudgetOptions,
): Promise<void> {
  if (max === undefined && perItem === undefined) return;
  await port.setBudget(jobId, {
    ...(max !== undefined && { max }),
    ...(perItem !== undefined && { perItem }),
  });
}

/** `command` is the one that was given, for the hint. Refused while a budget is spent: the job would pause again at once. */
export async function continueJob(
  port: Pick<JobPort, 'job' | 'resume'>,
  jobId: string,
  command: { words: readonly string[]; where: TargetOptions },
): Promise<Controlled> {
  const job = await port.job(jobId);
  const reached = reachedBudget(job);
  if (reached !== null && isSpent(reached)) {
    const raise = commandsToContinue(job, command.words, chooseTarget(command.where).kind).map((words) =>
      printedCommand(words, command.where),
    );
    throw new RowmillError(
      'JOB_CONFLICT',
      `cannot resume job ${jobId}: ${printable(job.pausedBecause ?? '')}`,
      { hint: `Raise the budget: ${raise.join(' && ')}` },
    );
  }
  return port.resume(jobId);
}

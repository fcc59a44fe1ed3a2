// Resumes a job that is paused, holds rows after a test run, or reached a budget that is now raised.
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { commandsToContinue } from './describe-stop.ts';
import { printedCommand } from './printed-command.ts';
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

/** `command` is the command the user ran. If the budget is used up, the hint repeats it with a sufficient budget. */
export async function continueJob(
  port: Pick<JobPort, 'job' | 'resume'>,
  jobId: string,
  command: { words: readonly string[]; where: TargetOptions },
): Promise<Controlled> {
  try {
    return await port.resume(jobId);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'BUDGET_USED_UP') throw error;
    const job = await port.job(jobId);
    const commands = commandsToContinue(job, command.words, chooseTarget(command.where).kind);
    // Over a server no command raises an owner's budget, so keep the hint of the server.
    if (commands.length === 1 && commands[0]!.length === command.words.length) throw error;
    const raise = commands.map((words) => printedCommand(words, command.where));
    throw new RowmillError('BUDGET_USED_UP', (error as Error).message, {
      hint: `Raise the budget: ${raise.join(' && ')}`,
      cause: error,
    });
  }
}

// Explains why a followed job stopped, and which command continues it.
import { budgetReached, isUsedUp } from '../core/limits/budget-control.ts';
import { raiseBudget } from '../core/limits/raise-budget.ts';
import type { BudgetStatus } from '../store/views/limits/read-budgets.ts';
import { printedCommand } from './printed-command.ts';
import { formatCount, printable } from './progress-lines.ts';
import type { Target, TargetOptions } from './remote/choose-target.ts';
import type { ShownJob } from './remote/job-port.ts';

/** Returns a sentence without its full stop. */
export function describeStop({ jobId, state, pausedBecause, counts, itemCount, held }: ShownJob): string {
  if (state !== 'PAUSED') return `Job ${jobId} has ${rows(held)} on hold`;
  const because = pausedBecause ? `: ${printable(pausedBecause)}` : '';
  const left = counts.PENDING + counts.PROCESSING;
  return `Job ${jobId} is paused${because}; ${formatCount(left)} of ${rows(itemCount)} are left`;
}

/** Lines that say why the job stopped and which commands continue it. */
export function* stopLines(
  job: ShownJob,
  resume: readonly string[],
  where: TargetOptions,
  over: Target['kind'] = 'database',
): Generator<string> {
  yield `${describeStop(job)}. Continue with:`;
  const commands = commandsToContinue(job, resume, over);
  for (const words of commands) yield `  ${printedCommand(words, where)}`;
  const raisesBudget = commands.length > 1 || commands[0]!.length > resume.length;
  if (raisesBudget)
    yield 'The new budget is an estimate from the costs so far. Raise it if the remaining rows may cost more.';
}

/**
 * Commands that continue the job, in order. The last one is `resume` with its options. If an owner's budget must be
 * raised first, that command works on the database only.
 */
export function commandsToContinue(
  job: ShownJob,
  resume: readonly string[],
  over: Target['kind'] = 'database',
): string[][] {
  const reached = reachedBudget(job);
  if (reached === null || (reached.scope !== 'job' && over === 'api')) return [[...resume]];
  const raised = String(raisedBudget(job, reached));
  if (reached.scope === 'job') return [[...resume, '--budget', raised]];
  const option = reached.scope === 'day' ? '--budget-per-day' : '--budget';
  return [['owners', 'set', job.ownerId, option, raised], [...resume]];
}

/** The budget that paused the job and is still used up; null if a person paused it or the budget was raised since. */
export function reachedBudget(job: ShownJob): BudgetStatus | null {
  const { state, pausedBecause, budgets, ownerId, costUnit } = job;
  if (state !== 'PAUSED' || pausedBecause === null) return null;
  const all = budgets as unknown as BudgetStatus[];
  const named = all.find(({ scope, max }) =>
    pausedBecause.startsWith(budgetReached({ scope, ownerId, costUnit }, max)),
  );
  return all.find(isUsedUp) ?? (named && named.spent > 0 ? named : null);
}

function raisedBudget({ counts, cost }: ShownJob, { max, spent, lost }: BudgetStatus): number {
  const { DONE, ERROR, NOT_FOUND, SKIPPED, PENDING, PROCESSING } = counts;
  return raiseBudget({
    max,
    spent: spent + lost,
    cost,
    ended: DONE + ERROR + NOT_FOUND + SKIPPED,
    left: PENDING + PROCESSING,
  });
}

export function rows(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'row' : 'rows'}`;
}

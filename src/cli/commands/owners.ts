// rowmill owners and rowmill audit: shares and limits of owners, and the log of who changed what (docs/fairness.md).

import { describeKeepDays } from '../../core/jobs/retention.ts';
import { formatCost } from '../../core/limits/format-cost.ts';
import type { OwnerBudget } from '../../engine/limits/set-budget.ts';
import { contextOf, type Rowmill } from '../../open-rowmill.ts';
import type { OwnerChange, OwnerLimits } from '../../store/commands/limits/set-owner.ts';
import { listAudit } from '../../store/views/jobs/list-audit.ts';
import { currentAccount } from '../current-account.ts';
import type { ServerOptions } from '../open-server.ts';
import { formatCount, printable } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import { withPort } from '../remote/with-port.ts';
import { textTable } from '../text-table.ts';
import { withRowmill } from '../with-rowmill.ts';

interface ListOptions extends ServerOptions {
  json?: boolean;
  limit?: number;
}

export interface OwnerSetOptions extends ServerOptions {
  json?: boolean;
  weight?: number;
  maxJobs?: number | 'none';
  maxItems?: number | 'none';
  keep?: number | 'default';
  budget?: number | 'none';
  budgetPerDay?: number | 'none';
}

export async function showOwners(options: ListOptions): Promise<number> {
  return withRowmill(options, async (rowmill) => {
    const owners = await rowmill.owners(options.limit);
    if (options.json) console.log(JSON.stringify(owners));
    else if (owners.length === 0) console.log('No owner has open jobs or settings');
    else console.log(ownerTable(owners).join('\n'));
    return 0;
  });
}

const HEADERS = ['Owner', 'Weight', 'Jobs', 'Running', 'Max jobs', 'Waiting', 'Assigned', 'Max rows', 'Keep'];

function ownerTable(owners: Awaited<ReturnType<Rowmill['owners']>>): string[] {
  const limit = (value: number | null): string => (value === null ? '-' : formatCount(value));
  return textTable(
    HEADERS,
    owners.map((owner) => [
      owner.ownerId,
      String(owner.weight),
      formatCount(owner.jobs),
      formatCount(owner.running),
      limit(owner.maxRunningJobs),
      formatCount(owner.waiting),
      formatCount(owner.leased),
      limit(owner.maxInFlight),
      owner.keepDays === null ? '-' : owner.keepDays === 0 ? 'for ever' : `${owner.keepDays} d`,
    ]),
  );
}

export async function setOwnerOf(ownerId: string, options: OwnerSetOptions): Promise<number> {
  const { weight, maxJobs, maxItems, keep, budget, budgetPerDay } = options;
  const change: OwnerChange = {
    ...(weight !== undefined && { weight }),
    ...(maxJobs !== undefined && { maxRunningJobs: limitOf(maxJobs) }),
    ...(maxItems !== undefined && { maxInFlight: limitOf(maxItems) }),
    ...(keep !== undefined && { keepDays: keep === 'default' ? null : keep }),
  };
  const budgets: OwnerBudget = {
    ...(budget !== undefined && { total: limitOf(budget) }),
    ...(budgetPerDay !== undefined && { perDay: limitOf(budgetPerDay) }),
  };
  const hasBudgets = Object.keys(budgets).length > 0;
  return withRowmill(options, async (rowmill) => {
    const by = { actor: currentAccount() };
    const spendable = hasBudgets ? await rowmill.setOwnerBudget(ownerId, budgets, by) : null;
    const limits =
      hasBudgets && Object.keys(change).length === 0 ? null : await rowmill.setOwner(ownerId, change, by);
    if (options.json)
      console.log(JSON.stringify({ ownerId, ...limits, ...(spendable && { budget: spendable }) }));
    else
      console.log(
        `Owner ${printable(ownerId)}: ${[...describeLimits(limits), ...describeSpendable(spendable)].join(', ')}`,
      );
    return 0;
  });
}

export interface OwnerBudgetOptions extends TargetOptions {
  json?: boolean;
  total?: number | 'none';
  perDay?: number | 'none';
}

/** Shows the budgets of an owner, after a change if one is given. */
export async function ownerBudgetOf(ownerId: string, options: OwnerBudgetOptions): Promise<number> {
  const { total, perDay, json } = options;
  return withPort(options, async (port) => {
    const budget = await port.ownerBudget(ownerId, {
      ...(total !== undefined && { total: limitOf(total) }),
      ...(perDay !== undefined && { perDay: limitOf(perDay) }),
    });
    if (json) console.log(JSON.stringify({ ownerId, budget }));
    else console.log(`Owner ${printable(ownerId)}: ${describeSpendable(budget).join(', ')}`);
    return 0;
  });
}

function describeLimits(limits: OwnerLimits | null): string[] {
  if (limits === null) return [];
  const atMost = (value: number | null, what: string): string =>
    value === null ? `any number of ${what}` : `at most ${formatCount(value)} ${what}`;
  return [
    `weight ${limits.weight}`,
    atMost(limits.maxRunningJobs, 'running jobs'),
    atMost(limits.maxInFlight, 'rows in progress'),
    ...(limits.keepDays === null ? [] : [`finished jobs ${describeKeepDays(limits.keepDays)}`]),
  ];
}

function describeSpendable(budget: { perDay: number | null; total: number | null } | null): string[] {
  if (budget === null) return [];
  const shown = (value: number | null): string => (value === null ? 'none' : formatCost(value));
  return [`budget ${shown(budget.total)}`, `budget per day ${shown(budget.perDay)}`];
}

const limitOf = (given: number | 'none'): number | null => (given === 'none' ? null : given);

export async function showAudit(subject: string | undefined, options: ListOptions): Promise<number> {
  return withRowmill(options, async (rowmill) => {
    const entries = await listAudit(contextOf(rowmill).db, subject ?? null, options.limit ?? 50);
    if (options.json) console.log(JSON.stringify(entries));
    else if (entries.length === 0) console.log('No manual changes');
    else
      for (const { at, actor, action, subject: changed, detail } of entries)
        console.log(
          `${at.toISOString()}  ${printable(actor)}  ${action}  ${printable(changed)}  ${printable(JSON.stringify(detail))}`,
        );
    return 0;
  });
}

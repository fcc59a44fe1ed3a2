// rowmill owners: shares, limits and budgets of owners (docs/fairness.md).
import { describeKeepDays } from '../../core/jobs/retention.ts';
import { formatCost } from '../../core/limits/format-cost.ts';
import { formatCount, printable } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { OwnerSettings, ShownOwner } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { textTable } from '../text-table.ts';

interface ListOptions extends TargetOptions {
  json?: boolean;
  limit?: number;
}

export interface OwnerSetOptions extends TargetOptions {
  json?: boolean;
  weight?: number;
  maxJobs?: number | 'none';
  maxItems?: number | 'none';
  keep?: number | 'default';
  budget?: number | 'none';
  budgetPerDay?: number | 'none';
}

export async function showOwners(options: ListOptions): Promise<number> {
  return withPort(options, async (port) => {
    const owners = await port.owners(options.limit ?? 1000);
    if (options.json) console.log(JSON.stringify(owners));
    else if (owners.length === 0) console.log('No owner has open jobs or settings');
    else console.log(ownerTable(owners).join('\n'));
    return 0;
  });
}

const HEADERS = ['Owner', 'Weight', 'Jobs', 'Running', 'Max jobs', 'Waiting', 'Assigned', 'Max rows', 'Keep'];

function ownerTable(owners: readonly ShownOwner[]): string[] {
  const count = (value: number | null | undefined): string => (value == null ? '-' : formatCount(value));
  return textTable(
    HEADERS,
    owners.map(({ keepDays, ...owner }) => [
      owner.ownerId,
      String(owner.weight),
      count(owner.openJobs),
      count(owner.runningJobs),
      count(owner.maxRunningJobs),
      count(owner.itemsWaiting),
      count(owner.itemsInFlight),
      count(owner.maxInFlight),
      keepDays == null ? '-' : keepDays === 0 ? 'for ever' : `${keepDays} d`,
    ]),
  );
}

export async function setOwnerOf(ownerId: string, options: OwnerSetOptions): Promise<number> {
  const { weight, maxJobs, maxItems, keep, budget, budgetPerDay } = options;
  return withPort(options, async (port) => {
    const settings = await port.setOwner(ownerId, {
      ...(weight !== undefined && { weight }),
      ...(maxJobs !== undefined && { maxRunningJobs: limitOf(maxJobs) }),
      ...(maxItems !== undefined && { maxInFlight: limitOf(maxItems) }),
      ...(keep !== undefined && { keepDays: keep === 'default' ? null : keep }),
      ...budgetsOf(budget, budgetPerDay),
    });
    if (options.json) console.log(JSON.stringify({ ownerId, ...settings }));
    else
      console.log(
        `Owner ${printable(ownerId)}: ${[...describeLimits(settings), ...describeBudgets(settings)].join(', ')}`,
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
  const change = budgetsOf(options.total, options.perDay);
  return withPort(options, async (port) => {
    const { budgetTotal = null, budgetPerDay = null } =
      (Object.keys(change).length > 0
        ? await port.setOwner(ownerId, change)
        : (await port.owners(Number.MAX_SAFE_INTEGER)).find((owner) => owner.ownerId === ownerId)) ?? {};
    if (options.json)
      console.log(JSON.stringify({ ownerId, budget: { total: budgetTotal, perDay: budgetPerDay } }));
    else
      console.log(
        `Owner ${printable(ownerId)}: ${describeBudgets({ budgetTotal, budgetPerDay }).join(', ')}`,
      );
    return 0;
  });
}

function describeLimits({ weight, maxRunningJobs, maxInFlight, keepDays }: OwnerSettings): string[] {
  if (weight === undefined) return [];
  const atMost = (value: number | null | undefined, what: string): string =>
    value == null ? `any number of ${what}` : `at most ${formatCount(value)} ${what}`;
  return [
    `weight ${weight}`,
    atMost(maxRunningJobs, 'running jobs'),
    atMost(maxInFlight, 'rows in progress'),
    ...(keepDays == null ? [] : [`finished jobs ${describeKeepDays(keepDays)}`]),
  ];
}

function describeBudgets({ budgetTotal, budgetPerDay }: OwnerSettings): string[] {
  if (budgetTotal === undefined || budgetPerDay === undefined) return [];
  const shown = (value: number | null): string => (value === null ? 'none' : formatCost(value));
  return [`budget ${shown(budgetTotal)}`, `budget per day ${shown(budgetPerDay)}`];
}

function budgetsOf(total: number | 'none' | undefined, perDay: number | 'none' | undefined): OwnerSettings {
  return {
    ...(total !== undefined && { budgetTotal: limitOf(total) }),
    ...(perDay !== undefined && { budgetPerDay: limitOf(perDay) }),
  };
}

const limitOf = (given: number | 'none'): number | null => (given === 'none' ? null : given);

import { afterEach, expect, it, vi } from 'vitest';
import { NO_HOLDER } from '../../../test/support/lease-holder.ts';
import { NO_LIMITS } from '../../core/limits/resource-limits.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import { definePipeline } from '../../pipeline/define-pipeline.ts';
import { Lease } from '../leases/lease.ts';
import { type PhaseRuntime, prepare } from '../run/run-item.ts';
import { type ItemServices, RunningItem } from '../run/running-item.ts';
import type { BudgetLimiter } from './budget-limiter.ts';
import { ItemQueue } from './item-queue.ts';
import { KeyPermits } from './key-permits.ts';
import { PhaseNeeds } from './phase-needs.ts';
import type { ResourceLimiter } from './resource-limiter.ts';

afterEach(() => vi.restoreAllMocks());

interface Limits {
  budget?: Claim['budget'];
  maxInFlight?: number | null;
}

function leaseOf({ budget = null, maxInFlight = null }: Limits = {}): Lease {
  const items = [{ seq: 0, input: '{"host":"a","pages":3}', previous: null }];
  const owner = { ownerId: 'owner', weight: 1, maxInFlight };
  return new Lease({ jobId: 'job', failures: '', items, owner, budget } as unknown as Claim, 1000, NO_HOLDER);
}

function needsOf(phase: object): { needs: PhaseNeeds; runtime: PhaseRuntime } {
  const pipeline = definePipeline({
    name: 'test',
    resources: { site: { concurrency: 1 } },
    phases: [{ name: 'only', run: () => 'x', ...phase }],
  });
  const resources = {
    version: 0,
    permits: (name: string, key: string) =>
      new KeyPermits(name, key, NO_LIMITS, { onChange: () => {}, onWant: () => {} }),
  } as unknown as ResourceLimiter;
  const budgets = { version: 0, budgetOf: () => null } as unknown as BudgetLimiter;
  const only = pipeline.phases[0]!;
  return {
    needs: new PhaseNeeds(resources, budgets, only, []),
    runtime: { pipeline, phase: only } as unknown as PhaseRuntime,
  };
}

it('parses an input once for its key, its cost and its handler', () => {
  const { needs, runtime } = needsOf({
    resources: [{ name: 'site', keyOf: (row: { host: string }) => row.host }],
    cost: (row: { pages: number }) => row.pages,
  });
  const lease = leaseOf();
  const parse = vi.spyOn(JSON, 'parse');
  const item = { lease, claimed: lease.claim.items[0]!, permits: null, charge: null, parsed: undefined };
  needs.fill(item);
  needs.refresh(item);
  expect(item).toMatchObject({ permits: [{ name: 'site', key: 'a' }], charge: { estimate: 3 } });
  const running = new RunningItem(lease, item.claimed, 0, {} as ItemServices);
  running.parsed = item.parsed;
  expect(prepare(runtime, running)).toEqual({ ok: true, input: { host: 'a', pages: 3 } });
  expect(parse).toHaveBeenCalledTimes(1);
});

it('sets nothing for items that need no permit and no budget', () => {
  const { needs } = needsOf({});
  const queue = new ItemQueue({ needs, maxHeldBack: 10 });
  const fill = vi.spyOn(needs, 'fill');
  queue.add(leaseOf());
  expect(queue.take(0)).toMatchObject({ permits: null, charge: null, parsed: undefined });
  expect(fill).not.toHaveBeenCalled();
});

it.each<[string, object, Limits]>([
  ['a resource', { resources: ['site'] }, {}],
  ['a cost', { cost: 1 }, {}],
  ['a budget', {}, { budget: { scopes: ['job'], perItem: null, costUnit: null } }],
  ['a limit of its owner', {}, { maxInFlight: 2 }],
])('does not take an item for free that has %s', (_, phase, limits) => {
  expect(needsOf(phase).needs.isFree(leaseOf(limits))).toBe(false);
});

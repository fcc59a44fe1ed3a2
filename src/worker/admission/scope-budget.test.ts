import { expect, test } from 'vitest';
import { initialBudgetState, syncBudget } from '../../core/limits/budget-control.ts';
import { JobBudgets } from './job-budgets.ts';
import { ScopeBudget } from './scope-budget.ts';

const LEASE_MS = 10_000;
const SLOTS = 3;

/** A worker whose calls cost 1 each, without an estimate. */
class Spender {
  readonly scope: ScopeBudget;
  readonly #line: JobBudgets;
  underWay = 0;

  constructor(name: string) {
    this.scope = new ScopeBudget('job', name, 0);
    this.#line = new JobBudgets('job', [this.scope], { onWant: () => {}, onChange: () => {} });
    this.#line.demands.set({}, { slots: SLOTS, items: SLOTS, next: 0, cost: 0 });
  }

  startAll(nowMs: number): number {
    let started = 0;
    for (; this.underWay < SLOTS && this.#line.canStart(0, nowMs); started += 1) {
      this.#line.start(0);
      this.underWay += 1;
    }
    return started;
  }

  endAll(): void {
    for (; this.underWay > 0; this.underWay -= 1) this.#line.finish(0, 1);
  }
}

test('no call starts between a report and its grant, not even one without an estimate', () => {
  const spender = new Spender('a');
  const first = spender.scope.report(0);
  expect(spender.startAll(0)).toBe(0);
  const { grant } = syncBudget(initialBudgetState(0), 20, first, 0, { leaseMs: LEASE_MS });
  spender.scope.apply(grant, first, 0, 0, LEASE_MS);
  expect(spender.startAll(0)).toBe(SLOTS);
  spender.endAll();
  expect(spender.startAll(0)).toBe(0);
  spender.scope.report(0);
  expect(spender.startAll(0)).toBe(0);
});

test('calls without an estimate exceed a budget by at most the calls in flight, in any order of syncs', () => {
  for (const order of ['aabb', 'abab', 'abba', 'baab', 'bbaa', 'ab', 'a', 'aaab']) {
    const limit = 20;
    const spenders = { a: new Spender('a'), b: new Spender('b') };
    let state = initialBudgetState(0);
    let total = 0;
    for (let round = 0; round < 40; round += 1) {
      for (const name of order) {
        const spender = spenders[name as 'a' | 'b'];
        total += spender.startAll(0);
        spender.endAll();
        const report = spender.scope.report(0);
        total += spender.startAll(0);
        const synced = syncBudget(state, limit, report, 0, { leaseMs: LEASE_MS });
        state = synced.state;
        spender.scope.apply(synced.grant, report, 0, 0, LEASE_MS);
      }
    }
    expect(total, order).toBeGreaterThanOrEqual(limit);
    expect(total, order).toBeLessThan(limit + 2 * SLOTS);
  }
});

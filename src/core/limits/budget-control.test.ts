import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { depth } from '../../../test/support/depth.ts';
import {
  type BudgetGrant,
  type BudgetState,
  budgetLeft,
  budgetSentence,
  initialBudgetState,
  onDay,
  syncBudget,
} from './budget-control.ts';

const OF_JOB = { scope: 'job', ownerId: 'anna', costUnit: 'EUR' } as const;

const LEASE_MS = 1000;

/** A minimal worker: reserves estimates from the held amount and reports the cost of its calls. */
class Worker {
  readonly id: string;
  /** Estimates of running calls. */
  calls: number[] = [];
  settled = 0;
  confirmed = 0;
  held = 0;
  heldUntilMs = 0;
  next: number | null = null;

  constructor(id: string) {
    this.id = id;
  }

  get reserved(): number {
    return this.calls.reduce((sum, cost) => sum + cost, 0);
  }

  get free(): number {
    return this.held - this.reserved - (this.settled - this.confirmed);
  }

  start(cost: number, nowMs: number): boolean {
    if (nowMs >= this.heldUntilMs || cost > this.free + 1e-9) return false;
    this.calls.push(cost);
    return true;
  }

  sync(
    state: BudgetState,
    limit: number,
    nowMs: number,
    answered: boolean,
  ): { state: BudgetState; grant: BudgetGrant } {
    const report = {
      holderId: this.id,
      settled: this.settled,
      confirmed: this.confirmed,
      reserved: this.reserved,
      wanted: (this.next ?? 0) * 4,
      next: this.next,
    };
    const synced = syncBudget(state, limit, report, nowMs, { leaseMs: LEASE_MS });
    if (answered) {
      this.held = synced.grant.held;
      this.confirmed = this.settled;
      this.heldUntilMs = nowMs + LEASE_MS;
    } else this.held = this.reserved + this.settled - this.confirmed;
    return synced;
  }
}

type Step =
  | { kind: 'start'; worker: number; cost: number }
  | { kind: 'end'; worker: number; ratio: number }
  | { kind: 'sync'; worker: number; answered: boolean; cost: number | null }
  | { kind: 'kill'; worker: number }
  | { kind: 'wait'; ms: number };

const workerAt = fc.nat({ max: 3 });
const costs = fc.integer({ min: 1, max: 9 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('start' as const), worker: workerAt, cost: costs }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      worker: workerAt,
      ratio: fc.constantFrom(0, 0.3, 1, 1, 1, 2),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('sync' as const),
      worker: workerAt,
      answered: fc.constantFrom(true, true, true, false),
      cost: fc.oneof(costs, fc.constant(null)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), worker: workerAt }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(50, 400, 1500) }),
  },
);

describe('a budget shared by workers that sync, are killed, or lose an answer', () => {
  it('is exceeded at most by the cost of calls above their estimates', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 5, max: 60 }),
        fc.array(step, { minLength: 40, maxLength: 160, size: 'max' }),
        (limit, steps) => {
          let state = initialBudgetState(0);
          let nowMs = 0;
          let born = 4;
          const workers = [0, 1, 2, 3].map((n) => new Worker(`w${n}`));
          // Everything charged by the service, including calls of killed workers.
          let charged = 0;
          let above = 0;
          for (const each of steps) {
            if (each.kind === 'wait') {
              nowMs += each.ms;
              continue;
            }
            const worker = workers[each.worker]!;
            if (each.kind === 'start' && worker.start(each.cost, nowMs)) charged += each.cost;
            if (each.kind === 'end' && worker.calls.length > 0) {
              const estimate = worker.calls.shift()!;
              const real = estimate * each.ratio;
              worker.settled += real;
              charged += real - estimate;
              above += Math.max(0, real - estimate);
            }
            if (each.kind === 'sync') {
              worker.next = each.cost;
              state = worker.sync(state, limit, nowMs, each.answered).state;
            }
            if (each.kind === 'kill') {
              workers[each.worker] = new Worker(`w${born}`);
              born += 1;
            }
            expect(charged).toBeLessThanOrEqual(limit + above + 1e-6);
            const known =
              state.spent +
              state.lost +
              Object.values(state.holders).reduce((sum, { held }) => sum + held, 0);
            expect(known).toBeLessThanOrEqual(limit + above + 1e-6);
          }
        },
      ),
      { numRuns: depth(300, 1500) },
    );
  });

  it('records the exact cost once all workers have reported and none is gone', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 120, size: 'max' }), (steps) => {
        let state = initialBudgetState(3);
        let nowMs = 0;
        let spent = 3;
        const workers = [0, 1, 2, 3].map((n) => new Worker(`w${n}`));
        for (const each of steps) {
          if (each.kind === 'wait') nowMs += each.ms;
          if (each.kind === 'wait' || each.kind === 'kill') continue;
          const worker = workers[each.worker]!;
          if (each.kind === 'start') worker.start(each.cost, nowMs);
          if (each.kind === 'end' && worker.calls.length > 0) {
            const real = worker.calls.shift()! * each.ratio;
            worker.settled += real;
            spent += real;
          }
          if (each.kind === 'sync') {
            worker.next = each.cost;
            // A report whose answer is lost is repeated before the lease expires.
            if (!each.answered) state = worker.sync(state, 50, nowMs, false).state;
            state = worker.sync(state, 50, nowMs, true).state;
          }
        }
        for (const worker of workers) {
          worker.next = null;
          spent += worker.reserved;
          worker.settled += worker.reserved;
          worker.calls = [];
          state = worker.sync(state, 50, nowMs, true).state;
        }
        expect(state.spent).toBeCloseTo(spent, 6);
        expect(state.lost).toBeCloseTo(0, 6);
        expect(budgetLeft(state, 50)).toBeCloseTo(50 - spent, 6);
      }),
      { numRuns: depth(300, 1500) },
    );
  });

  it('counts as reached only when less than one call is left, whichever worker asks', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.array(costs, { minLength: 1, maxLength: 4 }),
        (limit, nexts) => {
          let state = initialBudgetState(0);
          const workers = nexts.map((next, n) => Object.assign(new Worker(`w${n}`), { next }));
          let isReached = false;
          for (let round = 0; round < 500 && !isReached; round += 1) {
            for (const worker of workers) {
              const synced = worker.sync(state, limit, round, true);
              state = synced.state;
              // In the first round, not all workers have reported their next call.
              isReached ||= round > 0 && synced.grant.isReached;
              while (worker.start(worker.next!, round));
              worker.settled += worker.reserved;
              worker.calls = [];
            }
          }
          expect(isReached).toBe(true);
          expect(state.spent).toBeLessThanOrEqual(limit + 1e-6);
          expect(limit - state.spent).toBeLessThan(Math.min(...nexts));
        },
      ),
    );
  });
});

const report = { holderId: 'a', settled: 0, confirmed: 0, reserved: 0, wanted: 5, next: 1 };
const sync = (state: BudgetState, change: Partial<typeof report>, nowMs = 0, limit: number | null = 10) =>
  syncBudget(state, limit, { ...report, ...change }, nowMs, { leaseMs: LEASE_MS });

describe('a worker that is gone', () => {
  it('has its held amount counted as spent until it comes back and reports', () => {
    let { state } = sync(initialBudgetState(0), {});
    ({ state } = sync(state, { holderId: 'b' }, 2000));
    expect(state).toMatchObject({ spent: 0, lost: 5, gone: { a: { held: 5, settled: 0, sinceMs: 2000 } } });
    ({ state } = sync(
      state,
      { holderId: 'a', settled: 2, reserved: 1, wanted: 0, next: null as never },
      2100,
    ));
    expect(state).toMatchObject({ spent: 2, lost: 0, gone: {}, holders: { a: { held: 1 } } });
  });

  it('keeps the budget from being reached while its lease lasts', () => {
    let { state } = sync(initialBudgetState(0), { wanted: 10 });
    let { grant, state: after } = sync(state, { holderId: 'b' }, 100);
    expect(grant).toEqual({ held: 0, isOpen: false, isReached: false });
    ({ grant, state } = sync(after, { holderId: 'b' }, 2000));
    expect(grant.isReached).toBe(true);
    after = state;
    expect(budgetSentence(OF_JOB, 10, after, 1)).toBe(
      'budget of €10.00 reached: €10.00 spent, of which €10.00 was held by workers that are gone',
    );
  });
});

it('a remainder caused by rounding is not offered to the next call', () => {
  const spent = Array.from({ length: 50 }, () => 0.1).reduce((sum, cost) => sum + cost, 0);
  expect(spent).not.toBe(5);
  for (const each of [spent, 10 - spent])
    expect(budgetSentence(OF_JOB, 5, initialBudgetState(each), 0.1)).toBe(
      'budget of €5.00 reached: €5.00 spent',
    );
});

it('only a budget of a job has the unit of its costs', () => {
  const state = initialBudgetState(1995.5);
  expect(budgetSentence({ ...OF_JOB, costUnit: 'tokens' }, 2000, initialBudgetState(1995), 10)).toBe(
    'budget of 2,000 tokens reached: 1,995 tokens spent; the next call is estimated at 10 tokens',
  );
  expect(budgetSentence({ ...OF_JOB, scope: 'owner' }, 2000, state, 10)).toBe(
    'budget of owner anna of 2,000 reached: 1,995.50 spent; the next call is estimated at 10',
  );
  expect(budgetSentence({ ...OF_JOB, scope: 'day' }, 1995.5, state, null)).toBe(
    'budget per day of owner anna of 1,995.50 reached: 1,995.50 spent',
  );
});

it('a removed budget limits nothing', () => {
  const { grant } = sync(initialBudgetState(1000), {}, 0, null);
  expect(grant).toEqual({ held: 5, isOpen: true, isReached: false });
});

it('a new day starts with nothing spent and keeps the amounts held for running calls', () => {
  const { state } = sync({ ...initialBudgetState(8), day: '2026-01-01' }, { reserved: 1 });
  expect(onDay(state, '2026-01-01')).toBe(state);
  expect(onDay(state, '2026-01-02')).toMatchObject({
    spent: 0,
    lost: 0,
    day: '2026-01-02',
    holders: { a: { held: 2 } },
  });
});

it('the last call is not lost to rounding', () => {
  let state = initialBudgetState(0);
  let settled = 0;
  for (let n = 0; n < 50; n += 1) {
    const synced = sync(state, { settled, confirmed: settled, wanted: 0.1, next: 0.1 }, 0, 5);
    expect(synced.grant.held).toBeGreaterThan(0);
    state = synced.state;
    settled += 0.1;
  }
  expect(sync(state, { settled, wanted: 0.1, next: 0.1 }, 0, 5).grant.isReached).toBe(true);
});

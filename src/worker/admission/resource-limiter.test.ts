// The resource limiter of a worker against a real database.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { NO_LIMITS, type ResourceLimits } from '../../core/limits/resource-limits.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { monotonicMs, waitMs } from '../../platform/clock.ts';
import { newId } from '../../platform/random.ts';
import type { KeyPermits } from './key-permits.ts';
import { ResourceLimiter } from './resource-limiter.ts';

const database = useTestDatabase();
let engine: EngineContext;
beforeAll(() => {
  engine = database.context({ resourceSyncMs: 50, resourceLeaseMs: 60_000 });
});

const limiters: ResourceLimiter[] = [];
afterEach(async () => {
  for (const limiter of limiters.splice(0)) await limiter.stop();
});

function openLimiter(limits: Partial<ResourceLimits>, context = engine) {
  const looks: { resolve: () => void; is: () => boolean }[] = [];
  const limiter: ResourceLimiter = new ResourceLimiter({
    context,
    workerId: newId(),
    resources: new Map([['api', { ...NO_LIMITS, ...limits }]]),
    onPermits: () => {
      for (const look of looks.splice(0)) {
        if (look.is()) look.resolve();
        else looks.push(look);
      }
      for (const permits of wanted) permits.want();
    },
  });
  const wanted = new Set<KeyPermits>();
  limiters.push(limiter);
  return {
    limiter,
    want(key: string, calls: number): KeyPermits {
      const permits = limiter.permits('api', key, 'local');
      permits.demands.set(looks, { items: calls, slots: calls, cost: 0, next: 0 });
      wanted.add(permits);
      permits.want();
      return permits;
    },
    leave(permits: KeyPermits): void {
      permits.demands.clear();
      wanted.delete(permits);
    },
    /** Resolves when `is` returns true. Checked on every update of the limiter. */
    when: (is: () => boolean) => new Promise<void>((resolve) => looks.push({ resolve, is })),
  };
}

const heldIn = async (key: string): Promise<number[]> => {
  const rows = await database.query<{ held: number }>(
    `select (h.value ->> 'held')::int as held from resources r
     cross join lateral jsonb_each(r.state -> 'holders') h where r.key = $1`,
    [key],
  );
  return rows.map(({ held }) => held);
};

/** Starts as many calls as permitted. */
function startAll(permits: KeyPermits): number {
  let started = 0;
  while (permits.canStart(monotonicMs())) {
    permits.start(monotonicMs());
    started += 1;
  }
  return started;
}

describe('two limiters', () => {
  it('share concurrent calls, even if the first keeps using its permits', async () => {
    const [one, two] = [openLimiter({ concurrency: 4 }), openLimiter({ concurrency: 4 })];
    const first = one.want('shared', 10);
    await one.when(() => first.canStart(monotonicMs()));
    expect(startAll(first)).toBe(4);
    const second = two.want('shared', 10);
    // When calls of the first limiter end, it gives up half of its permits instead of starting new ones.
    await two.when(() => {
      if (first.inUse > 2) first.release();
      startAll(first);
      return second.canStart(monotonicMs());
    });
    await two.when(() => startAll(second) >= 0 && second.inUse === 2);
    expect(first.inUse).toBeLessThanOrEqual(2);
    for (const permits of [first, second]) while (permits.inUse > 0) permits.release();
  });

  it('take turns when there are fewer permits than limiters', async () => {
    const quick = database.context({ resourceSyncMs: 10, resourceLeaseMs: 60_000 });
    const both = [openLimiter({ concurrency: 1 }, quick), openLimiter({ concurrency: 1 }, quick)];
    const permits = both.map((each) => each.want('turns', 5));
    const had = new Set<KeyPermits>();
    const use = (): boolean => {
      for (const each of permits) {
        if (startAll(each) === 0) continue;
        had.add(each);
        expect(permits.reduce((sum, { inUse }) => sum + inUse, 0)).toBe(1);
        each.release();
      }
      return had.size === 2;
    };
    await Promise.race(both.map((each) => each.when(use)));
  });
});

it('returns permits that are no longer wanted, and forgets the key', async () => {
  const { limiter, want, leave, when } = openLimiter({ concurrency: 3 });
  const permits = want('given-back', 2);
  await when(() => permits.canStart(monotonicMs()));
  expect(await heldIn('given-back')).toEqual([2]);
  leave(permits);
  await when(() => permits.isIdle);
  expect(await heldIn('given-back')).toEqual([]);
  want('another', 1);
  await when(() => limiter.live().every(({ key }) => key !== 'given-back'));
});

it('returns all permits when it stops, even for more keys than fit into one sync', async () => {
  const { limiter, want, when } = openLimiter({ concurrency: 1 });
  const all = Array.from({ length: 700 }, (_, n) => want(`stop-${n}`, 1));
  await when(() => all.every((permits) => permits.canStart(monotonicMs())));
  await limiter.stop();
  const [left] = await database.query<{ count: number }>(
    `select count(*)::int as count from resources where key like 'stop-%' and state -> 'holders' <> '{}'`,
  );
  expect(left!.count).toBe(0);
});

it('can use its start times even if the database takes longer to answer than they last', async () => {
  const context = database.context({ resourceSyncMs: 50, resourceLeaseMs: 10_000 });
  const real = context.db.transaction.bind(context.db);
  // Ten times as long as a stretch of start times.
  context.db.transaction = (async (work: never) => {
    const answer = await real(work);
    await waitMs(1000);
    return answer;
  }) as typeof context.db.transaction;
  const { want, when } = openLimiter({ ratePerSecond: 40 }, context);
  const permits = want('late', 100);
  let started = 0;
  await when(() => {
    const count = startAll(permits);
    for (let call = 0; call < count; call += 1) permits.release();
    started += count;
    return started >= 20;
  });
});

it('starts nothing during a database outage, retries with growing delays, and recovers', async () => {
  const context = database.context({ resourceSyncMs: 20, resourceLeaseMs: 500 });
  const real = context.db.transaction.bind(context.db);
  let isDown = false;
  let tries = 0;
  context.db.transaction = ((work: never) => {
    if (!isDown) return real(work);
    tries += 1;
    return Promise.reject(new Error('away'));
  }) as typeof context.db.transaction;
  const { want, when } = openLimiter({ concurrency: 2 }, context);
  const permits = want('outage', 2);
  await when(() => permits.canStart(monotonicMs()));
  permits.start(monotonicMs());
  isDown = true;
  const downMs = monotonicMs();
  await when(() => monotonicMs() > downMs + 700);
  expect(permits.canStart(monotonicMs())).toBe(false);
  expect(tries).toBeLessThan(12);
  isDown = false;
  await when(() => permits.canStart(monotonicMs()));
  expect(await heldIn('outage')).toEqual([2]);
  permits.release();
});

/** A context whose database can be cut off. Counts its syncs. */
function cuttableContext(leaseMs: number) {
  const context = database.context({ resourceSyncMs: 20, resourceLeaseMs: leaseMs });
  const real = context.db.transaction.bind(context.db);
  const state = { context, isCut: false, syncs: 0 };
  context.db.transaction = (async (work: never) => {
    if (state.isCut) throw new Error('cut off');
    const answer = await real(work);
    state.syncs += 1;
    return answer;
  }) as typeof context.db.transaction;
  return state;
}

it('calls of a limiter that was cut off for longer than its lease exceed the limit, and nothing starts until all fit', async () => {
  const [frozen, other] = [cuttableContext(2000), cuttableContext(2000)];
  const [one, two] = [frozen, other].map(({ context }) => openLimiter({ concurrency: 3 }, context)) as [
    ReturnType<typeof openLimiter>,
    ReturnType<typeof openLimiter>,
  ];
  /** Resolves when both limiters have reported what is running now, and have the answer. */
  const bothSynced = async (): Promise<void> => {
    const [frozenSyncs, otherSyncs] = [frozen.syncs, other.syncs];
    await one.when(() => frozen.syncs >= frozenSyncs + 2);
    await two.when(() => other.syncs >= otherSyncs + 2);
  };
  const first = one.want('lapsed', 10);
  await one.when(() => first.canStart(monotonicMs()));
  expect(startAll(first)).toBe(3);
  frozen.isCut = true;

  const second = two.want('lapsed', 10);
  await two.when(() => startAll(second) >= 0 && second.inUse === 3);
  first.release();
  expect(startAll(first)).toBe(0);
  expect(first.inUse + second.inUse).toBe(5);

  frozen.isCut = false;
  await bothSynced();
  expect((await heldIn('lapsed')).sort()).toEqual([2, 3]);
  for (const ended of [first, second]) {
    ended.release();
    await bothSynced();
    expect(startAll(first) + startAll(second)).toBe(0);
  }
  expect(first.inUse + second.inUse).toBe(3);
  second.release();
  await Promise.race([one, two].map(({ when }) => when(() => startAll(first) + startAll(second) > 0)));
  expect(first.inUse + second.inUse).toBe(3);
  for (const permits of [first, second]) while (permits.inUse > 0) permits.release();
});

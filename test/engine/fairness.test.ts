// Owners share workers by weight, whatever the number and size of their jobs; the limits of one owner cost the others
// nothing.
import { afterEach, describe, expect, test } from 'vitest';
import {
  definePipeline,
  openRowmill,
  type Pipeline,
  type Rowmill,
  type RowmillWorker,
} from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { waitMs } from '../../src/platform/clock.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { depth } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
let workers: RowmillWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop({ drainMs: 0 })));
  workers = [];
  await rowmill.close();
  await database.query(
    `update jobs set state = 'CANCELLED' where state not in ('DONE', 'CANCELLED', 'FAILED')`,
  );
  await database.query('truncate owners');
});

interface Handled {
  owner: string;
  job: string;
}

/** Records the handler calls; rows name their owner. */
class Log {
  readonly handled: Handled[] = [];
  readonly #counts = new Map<string, number>();
  readonly now = new Map<string, number>();
  readonly most = new Map<string, number>();
  readonly jobsNow = new Map<string, Map<string, number>>();
  readonly mostJobs = new Map<string, number>();
  /** Calls of an owner return once this many of them ran concurrently. */
  readonly holdUntil = new Map<string, number>();
  #waiters: { is: () => boolean; resolve: () => void }[] = [];

  async run({ owner, job = '', ms }: { owner: string; job?: string; ms: number }): Promise<object> {
    this.#count(owner, job, 1);
    do if (ms > 0) await waitMs(ms);
    while ((this.most.get(owner) ?? 0) < (this.holdUntil.get(owner) ?? 0));
    this.handled.push({ owner, job });
    this.#counts.set(owner, this.count(owner) + 1);
    this.#count(owner, job, -1);
    for (const waiter of this.#waiters.splice(0)) {
      if (waiter.is()) waiter.resolve();
      else this.#waiters.push(waiter);
    }
    return {};
  }

  count(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }

  /** Resolves when `is()` holds; checked after each item. */
  when(is: () => boolean): Promise<void> {
    return new Promise((resolve) => this.#waiters.push({ is, resolve }));
  }

  #count(owner: string, job: string, change: number): void {
    const now = (this.now.get(owner) ?? 0) + change;
    this.now.set(owner, now);
    this.most.set(owner, Math.max(this.most.get(owner) ?? 0, now));
    const jobs = this.jobsNow.get(owner) ?? new Map<string, number>();
    this.jobsNow.set(owner, jobs);
    const ofJob = (jobs.get(job) ?? 0) + change;
    if (ofJob === 0) jobs.delete(job);
    else jobs.set(job, ofJob);
    this.mostJobs.set(owner, Math.max(this.mostJobs.get(owner) ?? 0, jobs.size));
  }
}

let made = 0;
function logged(log: Log, concurrency: number): Pipeline {
  made += 1;
  return definePipeline({
    name: `fair-${made}`,
    outputs: [],
    phases: [
      { name: 'only', concurrency, run: (row) => log.run(row as unknown as Parameters<Log['run']>[0]) },
    ],
  });
}

async function open(pipeline: Pipeline, count: number, settings: Partial<Settings> = {}): Promise<void> {
  rowmill = await openRowmill({ databaseUrl: database.url, settings });
  workers = await Promise.all(Array.from({ length: count }, () => rowmill.startWorker([pipeline])));
}

function* rows(count: number, row: { owner: string; job?: string; ms: number }): Generator<object> {
  for (let n = 0; n < count; n += 1) yield { n, ...row };
}

test('two owners with long jobs and weights 1 and 3 get shares of 1 to 3', async () => {
  const log = new Log();
  const pipeline = logged(log, 10);
  await open(pipeline, 0, { claimMax: 50 });
  await rowmill.setOwner('one', { weight: 1 });
  await rowmill.setOwner('three', { weight: 3 });
  await Promise.all(
    ['one', 'three'].map((owner) =>
      rowmill.submit(pipeline, rows(20_000, { owner, ms: 5 }), { ownerId: owner }),
    ),
  );
  // Both jobs are stored before the workers start, so that the first search for work finds both owners.
  workers = await Promise.all([1, 2].map(() => rowmill.startWorker([pipeline])));
  await log.when(() => log.handled.length >= 12_000);
  const shared = log.handled.slice(0, 12_000);
  const ones = shared.filter(({ owner }) => owner === 'one').length;
  const ratio = (shared.length - ones) / ones;
  console.log(`weights 1 and 3: 1 to ${ratio.toFixed(2)} of 12,000 items`);
  expect(ratio).toBeGreaterThan(3 * 0.7);
  expect(ratio).toBeLessThan(3 * 1.4);
});

describe('a job of ten rows beside a large one', () => {
  test('finishes first if handlers take no time', async () => {
    const log = new Log();
    const pipeline = logged(log, 10);
    await open(pipeline, 0);
    // The large job does not run out of rows before the small one is finished. bench/limits.ts measures how long that
    // takes.
    let isSmallDone = false;
    function* endless() {
      yield* rows(100_000, { owner: 'large', ms: 0 });
      while (!isSmallDone) yield* rows(1000, { owner: 'large', ms: 0 });
    }
    const { events } = contextOf(rowmill);
    let added = 0;
    const stored = new Promise<void>((resolve) =>
      events.on('items.added', ({ items }) => {
        added += items;
        if (added >= 50_000) resolve();
      }),
    );
    const submitted = rowmill.submit(pipeline, endless(), { ownerId: 'large' });
    try {
      await stored;
      workers = [await rowmill.startWorker([pipeline])];
      await log.when(() => log.handled.length > 100);
      const small = await rowmill.submit(pipeline, rows(10, { owner: 'small', ms: 0 }), { ownerId: 'small' });
      await rowmill.whenFinished(small);
    } finally {
      isSmallDone = true;
      await submitted;
    }
    console.log(`${log.count('large')} rows of the large job were handled when the small one finished`);
    expect(log.count('small')).toBe(10);
  });

  test('gets at least every second free slot if handlers take long', async () => {
    const SLOTS = 10;
    /** Functions that finish the running calls of the large job. */
    const ends: (() => void)[] = [];
    let full = (): void => {};
    let handledOfSmall = 0;
    const whenFull = () =>
      new Promise<void>((resolve) => {
        full = resolve;
        if (ends.length === SLOTS) resolve();
      });
    const pipeline = definePipeline({
      name: 'fair-held',
      outputs: [],
      phases: [
        {
          name: 'only',
          concurrency: SLOTS,
          run: async ({ owner }, { signal }) => {
            if (owner === 'small') {
              handledOfSmall += 1;
              return {};
            }
            await new Promise<void>((resolve) => {
              signal.addEventListener('abort', () => resolve());
              ends.push(resolve);
              if (ends.length === SLOTS) full();
            });
            return {};
          },
        },
      ],
    });
    await open(pipeline, 1);
    const large = await rowmill.submit(pipeline, rows(1000, { owner: 'large', ms: 0 }), { ownerId: 'large' });
    await whenFull();
    const { events } = contextOf(rowmill);
    const claimed = events.next('claim.made', ({ jobId }) => jobId !== large);
    await rowmill.submit(pipeline, rows(10, { owner: 'small', ms: 0 }), { ownerId: 'small' });
    expect((await claimed).items).toBe(10);
    let freed = 0;
    while (handledOfSmall < 10) {
      ends.shift()!();
      freed += 1;
      await whenFull();
    }
    console.log(`the ten rows took ${freed} free slots`);
    expect(freed).toBeLessThanOrEqual(20);
  });
});

test('jobs of one owner run by priority, then by age', async () => {
  const log = new Log();
  const pipeline = logged(log, 2);
  await open(pipeline, 0);
  for (const [job, priority] of [
    ['old', 0],
    ['new', 0],
    ['low', -5],
    ['urgent', 7],
  ] as const)
    await rowmill.submit(pipeline, rows(40, { owner: 'one', job, ms: 1 }), { ownerId: 'one', priority });
  workers = [await rowmill.startWorker([pipeline], { settings: { claimMax: 20, claimConcurrency: 1 } })];
  await log.when(() => log.handled.length === 160);
  const first = (job: string): number => log.handled.findIndex((each) => each.job === job);
  const last = (job: string): number => log.handled.findLastIndex((each) => each.job === job);
  const order = ['urgent', 'old', 'new', 'low'];
  expect([...order].sort((a, b) => first(a) - first(b))).toEqual(order);
  expect([...order].sort((a, b) => last(a) - last(b))).toEqual(order);
});

test('limits on running jobs and on running items hold across three workers, and can change while they run', async () => {
  const log = new Log();
  const pipeline = logged(log, 10);
  log.holdUntil.set('limited', 5);
  await open(pipeline, 0);
  await rowmill.setOwner('limited', { maxRunningJobs: 2, maxInFlight: 5 });
  const jobIds: string[] = [];
  for (let job = 0; job < 8; job += 1) {
    const items = rows(200, { owner: 'limited', job: String(job), ms: 5 });
    jobIds.push(await rowmill.submit(pipeline, items, { ownerId: 'limited', priority: job % 3 }));
  }
  await rowmill.submit(pipeline, rows(2000, { owner: 'free', ms: 5 }), { ownerId: 'free' });
  workers = await Promise.all(Array.from({ length: 3 }, () => rowmill.startWorker([pipeline])));
  let mostBegun = 0;
  let isRunning = true;
  const watching = (async () => {
    while (isRunning) {
      const [row] = await database.query<{ begun: number }>(
        `select count(*)::int as begun from jobs where owner_id = 'limited' and started_at is not null
           and state in ('INGESTING', 'QUEUED', 'RUNNING')`,
      );
      mostBegun = Math.max(mostBegun, row!.begun);
      await waitMs(5);
    }
  })();
  await log.when(() => log.count('limited') >= 400);
  expect(log.most.get('limited')).toBe(5);
  log.holdUntil.set('limited', 6);
  await rowmill.setOwner('limited', { maxInFlight: 12 });
  await Promise.all(jobIds.map((jobId) => rowmill.whenFinished(jobId)));
  isRunning = false;
  await watching;
  expect(mostBegun).toBe(2);
  expect(log.mostJobs.get('limited')).toBeLessThanOrEqual(2);
  expect(log.most.get('limited')).toBeGreaterThan(5);
  expect(log.most.get('limited')).toBeLessThanOrEqual(12);
});

test('a call of many items counts as that many for its owner', async () => {
  let now = 0;
  let most = 0;
  const pipeline = definePipeline({
    name: 'fair-many',
    outputs: [],
    phases: [
      {
        name: 'only',
        concurrency: 4,
        batch: { maxItems: 20 },
        runMany: async (items) => {
          now += items.length;
          most = Math.max(most, now);
          await waitMs(5);
          now -= items.length;
          return items.map(() => ({}));
        },
      },
    ],
  });
  await open(pipeline, 2);
  await rowmill.setOwner('many', { maxInFlight: 7 });
  const jobId = await rowmill.submit(pipeline, rows(300, { owner: 'many', ms: 0 }), { ownerId: 'many' });
  await rowmill.whenFinished(jobId);
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(7);
});

test.each([
  ['running jobs', { maxRunningJobs: 1, maxInFlight: null }],
  ['items', { maxRunningJobs: null, maxInFlight: 1 }],
])('many jobs of an owner at its limit of %s do not hold up another owner', async (_, limits) => {
  const log = new Log();
  const pipeline = logged(log, 20);
  await open(pipeline, 1);
  await rowmill.setOwner('blocked', limits);
  await rowmill.submit(pipeline, rows(100_000, { owner: 'other', ms: 10 }), { ownerId: 'other' });
  await log.when(() => log.handled.length > 1000);
  for (let job = 0; job < depth(200, 1000); job += 20) {
    const items = () => rows(2, { owner: 'blocked', job: String(job), ms: 20_000 });
    await Promise.all(
      Array.from({ length: 20 }, () => rowmill.submit(pipeline, items(), { ownerId: 'blocked' })),
    );
  }
  // blocked-jobs.test.ts measures the cost in pages, the bench in items per second.
  const from = log.count('other');
  const most = limits.maxInFlight ?? 2;
  await log.when(() => log.count('other') >= from + 4000 && log.most.get('blocked') === most);
  expect(log.most.get('blocked')).toBe(most);
});

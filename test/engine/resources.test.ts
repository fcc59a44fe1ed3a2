// Limits of a service, seen from the service: several workers in one process, each with its own connections, share
// them through the database alone.
import { afterEach, describe, expect, test } from 'vitest';
import { overrideResource } from '../../src/engine/limits/override-resource.ts';
import {
  definePipeline,
  httpError,
  notFound,
  openRowmill,
  type Rowmill,
  type RowmillWorker,
  resource,
} from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import { monotonicMs, waitMs } from '../../src/platform/clock.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { listResources } from '../../src/store/views/limits/list-resources.ts';
import { isDeep } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

/** A service that notes when calls come, and how many are there at once. */
class CountingService {
  readonly starts: { atMs: number; key: string }[] = [];
  readonly most = new Map<string, number>();
  readonly #now = new Map<string, number>();
  answerMs = 20;
  answer: (key: string) => unknown = () => ({ ok: true });

  async call(key = ''): Promise<unknown> {
    const atMs = monotonicMs();
    this.starts.push({ atMs, key });
    const now = (this.#now.get(key) ?? 0) + 1;
    this.#now.set(key, now);
    this.most.set(key, Math.max(this.most.get(key) ?? 0, now));
    await waitMs(this.answerMs);
    this.#now.set(key, this.#now.get(key)! - 1);
    const answer = this.answer(key);
    if (answer instanceof Error) throw answer;
    return answer;
  }

  /** Starts in the busiest stretch of this length. */
  mostStartsIn(ms: number, key?: string): number {
    const times = this.starts
      .filter((start) => key === undefined || start.key === key)
      .map(({ atMs }) => atMs);
    return Math.max(0, ...times.map((from, at) => times.slice(at).filter((atMs) => atMs < from + ms).length));
  }

  /** Over the time from the first call to the last. */
  get perSecond(): number {
    const first = this.starts[0]!.atMs;
    const last = this.starts.at(-1)!.atMs;
    return ((this.starts.length - 1) / (last - first)) * 1000;
  }
}

let rowmill: Rowmill;
let workers: RowmillWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop({ drainMs: 0 })));
  workers = [];
  await rowmill.close();
});

let made = 0;
async function startWorkers(
  service: CountingService,
  options: {
    count?: number;
    limits: Record<string, object>;
    uses?: Parameters<typeof definePipeline>[0]['phases'] extends never
      ? never
      : readonly (string | object)[];
    settings?: Partial<Settings>;
    timeoutMs?: number;
    concurrency?: number;
  },
) {
  made += 1;
  const pipeline = definePipeline({
    name: `limited-${made}`,
    resources: options.limits,
    phases: [
      {
        name: 'call',
        concurrency: options.concurrency ?? 20,
        resources: (options.uses ?? Object.keys(options.limits)) as string[],
        retry: {
          throttled: { maxAttempts: 50, baseMs: 10, capMs: 20 },
          overloaded: { maxAttempts: 50, baseMs: 10, capMs: 20 },
        },
        ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
        run: (row: Record<string, unknown>) => service.call(String(row.key ?? '')),
      },
    ],
  });
  rowmill = await openRowmill({ databaseUrl: database.url, settings: options.settings ?? {} });
  workers = await Promise.all(
    Array.from({ length: options.count ?? 1 }, () => rowmill.startWorker([pipeline])),
  );
  return pipeline;
}

const rows = (count: number, key?: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => ({ n, ...(key && { key: key(n) }) }));

describe('three workers together', () => {
  test('start no more calls per second than declared', async () => {
    const service = new CountingService();
    const pipeline = await startWorkers(service, { count: 3, limits: { a1: { ratePerSecond: 100 } } });
    const jobId = await rowmill.submit(pipeline, rows(400));
    await rowmill.whenFinished(jobId);
    expect(service.perSecond).toBeLessThanOrEqual(101);
    // A timer that comes late lets the next call come close behind it.
    expect(service.mostStartsIn(1000)).toBeLessThanOrEqual(110);
  });

  test('have no more calls under way than declared, and as many', async () => {
    const service = new CountingService();
    const pipeline = await startWorkers(service, { count: 3, limits: { a2: { concurrency: 7 } } });
    const jobId = await rowmill.submit(pipeline, rows(600));
    await rowmill.whenFinished(jobId);
    expect(service.most.get('')).toBe(7);
  });
});

test('keys have limits of their own, and one that is busy does not keep others waiting', async () => {
  const service = new CountingService();
  const pipeline = await startWorkers(service, {
    count: 2,
    limits: { b1: { concurrency: 1, minDelayMs: 100 } },
    uses: [resource<{ key: string }>('b1', (row) => row.key)],
  });
  // The first 30 rows are all of one key.
  const jobId = await rowmill.submit(
    pipeline,
    rows(70, (n) => (n < 30 ? 'slow' : `host${n % 10}`)),
  );
  await rowmill.whenFinished(jobId);
  expect([...service.most.values()].every((most) => most === 1)).toBe(true);
  // Who comes too late for a place by up to 30 ms still uses it, and the next may be in time.
  for (const key of service.most.keys()) expect(service.mostStartsIn(60, key), key).toBe(1);
  const called = service.starts.map(({ key }) => key);
  expect(called.indexOf('host3')).toBeLessThan(called.lastIndexOf('slow'));
});

test('a key can follow the strategy of the call, and a key of null uses nothing of the resource', async () => {
  const strategies = ['first', 'second'];
  const seen: string[] = [];
  const pipeline = definePipeline({
    name: 'rotating',
    strategies,
    resources: { b3: { concurrency: 1 } },
    phases: [
      {
        name: 'look',
        retry: { not_found: { maxAttempts: 2, baseMs: 1, capMs: 1 } },
        resources: [
          resource<{ free?: boolean }>('b3', ({ free }, { strategy }) => (free ? null : `shop ${strategy}`)),
        ],
        run: (row, { strategy }) => {
          seen.push(`${row.free ? 'free' : 'paid'} ${strategy}`);
          return strategy === 'first' && !row.free ? notFound() : { ok: true };
        },
      },
    ],
  });
  rowmill = await openRowmill({ databaseUrl: database.url });
  workers = [await rowmill.startWorker([pipeline])];
  const jobId = await rowmill.submit(pipeline, [{ free: false }, { free: true }]);
  const { counts } = await rowmill.whenFinished(jobId);
  expect(counts.DONE).toBe(2);
  expect(seen.sort()).toEqual(['free first', 'paid first', 'paid second']);
  const used = await rowmill.resources({ name: 'b3' });
  expect(used.map(({ key }) => key).sort()).toEqual(['shop first', 'shop second']);
});

test.runIf(isDeep)(
  'more keys than fit in memory: rows of a busy key are given back until their turn',
  async () => {
    const service = new CountingService();
    service.answerMs = 1;
    const pipeline = await startWorkers(service, {
      limits: { b2: { minDelayMs: 2 } },
      uses: [resource<{ key: string }>('b2', (row) => row.key)],
      settings: { claimMin: 5000 },
    });
    const jobId = await rowmill.submit(
      pipeline,
      rows(2600, (n) => (n < 2500 ? 'busy' : 'other')),
    );
    await rowmill.whenFinished(jobId);
    const place = service.starts.findLastIndex((start) => start.key === 'other');
    expect(place).toBeLessThan(1500);
    const attempts = await database.query('select distinct attempt from results where job_id = $1', [jobId]);
    expect(attempts).toEqual([{ attempt: 1 }]);
  },
);

test('an item that waits for a permit holds no slot, and its wait is not its timeout', async () => {
  const service = new CountingService();
  const pipeline = await startWorkers(service, { limits: { c1: { ratePerSecond: 3 } }, timeoutMs: 3000 });
  const jobId = await rowmill.submit(pipeline, rows(15));
  const summary = await rowmill.whenFinished(jobId);
  expect(summary.counts.DONE).toBe(15);
  expect(summary.phases[0]!.retried).toBe(0);
});

const until = async (is: () => boolean): Promise<void> => {
  while (!is()) await waitMs(10);
};

test('an answer that asks to be left alone stops all workers for that long', async () => {
  const service = new CountingService();
  let refusedAtMs = 0;
  service.answer = () => {
    if (refusedAtMs > 0 || service.starts.length < 20) return { ok: true };
    refusedAtMs = monotonicMs();
    return httpError({ status: 429, headers: { 'retry-after': '5' } });
  };
  const pipeline = await startWorkers(service, { count: 3, limits: { d1: { concurrency: 4 } } });
  // More than they would do in that time.
  const jobId = await rowmill.submit(pipeline, rows(3000));
  const since = (ms: number) => service.starts.filter(({ atMs }) => atMs > refusedAtMs + ms);
  await until(() => refusedAtMs > 0 && since(5000).length > 0);
  await rowmill.cancel(jobId);
  // The others hear of it with their next sync, of which there are several in three seconds.
  expect(since(3000).filter(({ atMs }) => atMs < refusedAtMs + 4900)).toEqual([]);
});

test('an operator pauses, raises and lowers a resource while it is used; each change is in the audit', async () => {
  const service = new CountingService();
  const pipeline = await startWorkers(service, { count: 2, limits: { e1: { ratePerSecond: 50 } } });
  const set = (change: object) =>
    overrideResource(contextOf(rowmill), { name: 'e1', change, actor: 'tests' });
  const jobId = await rowmill.submit(pipeline, rows(100_000));
  await until(() => service.starts.length > 20);
  await set({ paused: true });
  const pausedAtMs = monotonicMs();
  // All hear of it with their next sync, of which there are several in two seconds.
  await until(() => monotonicMs() > pausedAtMs + 3000);
  expect(service.starts.filter(({ atMs }) => atMs > pausedAtMs + 2000)).toEqual([]);
  const [listed] = await listResources(contextOf(rowmill).db, 'e1', 10);
  expect(listed).toMatchObject({ name: 'e1', override: { paused: true }, limits: { ratePerSecond: 50 } });

  await set({ paused: null, ratePerSecond: 200 });
  // More than it was before.
  await until(() => {
    const nowMs = monotonicMs();
    return service.starts.filter(({ atMs }) => atMs > nowMs - 1000).length > 80;
  });
  expect(service.mostStartsIn(1000)).toBeLessThanOrEqual(215);
  await rowmill.cancel(jobId);
  const audit = await database.query<{ actor: string; detail: { change: object } }>(
    `select actor, detail from audit where subject = 'resource e1' order by audit_id`,
  );
  expect(audit.slice(-2).map(({ actor, detail }) => [actor, detail.change])).toEqual([
    ['tests', { paused: true }],
    ['tests', { paused: null, ratePerSecond: 200 }],
  ]);
});

test('a service that only fails is left alone, and used again when it answers', async () => {
  const service = new CountingService();
  let isDown = true;
  service.answer = () => (isDown ? Object.assign(new Error('down'), { status: 503 }) : { ok: true });
  const pipeline = await startWorkers(service, { count: 2, limits: { f1: { concurrency: 5 } } });
  const jobId = await rowmill.submit(pipeline, rows(200));
  const opened = new Promise<void>((resolve) => {
    for (const worker of workers)
      worker.events.on('resource.decided', ({ kind, to }) => {
        if (kind === 'circuit' && to === 'open') resolve();
      });
  });
  await opened;
  // The other worker hears of it with its next sync.
  await waitMs(1500);
  const calls = service.starts.length;
  await waitMs(500);
  // Calls that probe; there would be a hundred and more.
  expect(service.starts.length - calls, 'while it is open').toBeLessThan(10);
  isDown = false;
  const summary = await rowmill.whenFinished(jobId);
  expect(summary.counts.DONE).toBe(200);
  expect(service.starts.length).toBeLessThan(350);
});

// Limits of a service, measured at the service: several workers in one process, each with its own connections, share
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
import { waitMs } from '../../src/platform/clock.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { listResources } from '../../src/store/views/limits/list-resources.ts';
import { isDeep, LONG } from '../support/depth.ts';
import {
  databaseMs,
  expectPlaces,
  holdersOf,
  passTime,
  readResource,
  until,
  whenHeard,
} from '../support/resource-row.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

/** A service that counts its calls, total and concurrent. */
class CountingService {
  /** The keys of all calls, in order. */
  readonly called: string[] = [];
  readonly most = new Map<string, number>();
  readonly #now = new Map<string, number>();
  answer: (key: string) => unknown = () => ({ ok: true });
  /** Calls are answered once this has resolved. */
  whenAnswering: () => Promise<void> = () => waitMs(20);

  get calls(): number {
    return this.called.length;
  }

  /** Running calls per key. */
  now(key = ''): number {
    return this.#now.get(key) ?? 0;
  }

  async call(key = ''): Promise<unknown> {
    this.called.push(key);
    const now = this.now(key) + 1;
    this.#now.set(key, now);
    this.most.set(key, Math.max(this.most.get(key) ?? 0, now));
    await this.whenAnswering();
    this.#now.set(key, this.now(key) - 1);
    const answer = this.answer(key);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}

let rowmill: Rowmill;
let workers: RowmillWorker[] = [];

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop({ drainMs: 0 })));
  workers = [];
  await rowmill.close();
  await database.query('truncate resources, resource_overrides');
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

const heard = (name: string): Promise<void> =>
  whenHeard(database, name, contextOf(rowmill).settings.resourceLeaseMs);

describe('three workers together', () => {
  // test/simulation/slow-workers.test.ts covers the spacing of calls, and their number within any second.
  test('start no more calls per second than declared', async () => {
    const service = new CountingService();
    const pipeline = await startWorkers(service, { count: 3, limits: { a1: { ratePerSecond: 20 } } });
    // So few calls that even a slow machine could exceed the limit.
    const sinceMs = await databaseMs(database);
    const jobId = await rowmill.submit(pipeline, rows(60));
    await rowmill.whenFinished(jobId);
    expect(service.calls).toBe(60);
    await expectPlaces(database, service.calls, { name: 'a1', perSecond: 20, sinceMs });
  });

  test('run no more concurrent calls than declared, and as many', async () => {
    const service = new CountingService();
    service.whenAnswering = () => until(() => service.most.get('')! >= 7);
    const pipeline = await startWorkers(service, { count: 3, limits: { a2: { concurrency: 7 } } });
    const jobId = await rowmill.submit(pipeline, rows(300));
    await rowmill.whenFinished(jobId);
    expect(service.most.get('')).toBe(7);
  });
});

test('keys have separate limits, and a busy key does not delay others', async () => {
  const service = new CountingService();
  const pipeline = await startWorkers(service, {
    count: 2,
    limits: { b1: { concurrency: 1, minDelayMs: 100 } },
    uses: [resource<{ key: string }>('b1', (row) => row.key)],
  });
  const sinceMs = await databaseMs(database);
  // The first 30 rows are all of one key.
  const jobId = await rowmill.submit(
    pipeline,
    rows(70, (n) => (n < 30 ? 'slow' : `host${n % 10}`)),
  );
  await rowmill.whenFinished(jobId);
  expect(service.most.size).toBe(11);
  for (const [key, most] of service.most) {
    expect(most, key).toBe(1);
    const calls = service.called.filter((each) => each === key).length;
    await expectPlaces(database, calls, { name: 'b1', key, perSecond: 10, sinceMs });
  }
  expect(service.called.indexOf('host3')).toBeLessThan(service.called.lastIndexOf('slow'));
});

test('a key can depend on the strategy of the call, and a null key uses nothing of the resource', async () => {
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
  'with more keys than fit in memory, rows of a busy key are returned until their turn',
  LONG,
  async () => {
    const service = new CountingService();
    service.whenAnswering = () => waitMs(1);
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
    const place = service.called.lastIndexOf('other');
    expect(place).toBeLessThan(1500);
    const attempts = await database.query('select distinct attempt from results where job_id = $1', [jobId]);
    expect(attempts).toEqual([{ attempt: 1 }]);
  },
);

test('an item that waits for a permit holds no slot, and its wait does not count towards its timeout', async () => {
  const service = new CountingService();
  const pipeline = await startWorkers(service, { limits: { c1: { ratePerSecond: 3 } }, timeoutMs: 3000 });
  const jobId = await rowmill.submit(pipeline, rows(12));
  const summary = await rowmill.whenFinished(jobId);
  expect(summary.counts.DONE).toBe(12);
  expect(summary.phases[0]!.retried).toBe(0);
});

test('an answer with retry-after stops all workers until that time', async () => {
  const service = new CountingService();
  let isRefusing = false;
  service.answer = () => {
    if (!isRefusing) return { ok: true };
    isRefusing = false;
    return httpError({ status: 429, headers: { 'retry-after': '200' } });
  };
  const pipeline = await startWorkers(service, { count: 3, limits: { d1: { concurrency: 4 } } });
  const jobId = await rowmill.submit(pipeline, rows(10_000));
  await until(async () => service.calls > 20 && (await holdersOf(database, 'd1')).length === 3);
  const paused = contextOf(rowmill).events.next('resource.decided', ({ kind }) => kind === 'pause');
  isRefusing = true;
  expect((await paused).reason).toMatch(/^the service asked for a pause of \d+ ms$/);
  await heard('d1');
  const { calls } = service;
  await heard('d1');
  expect(service.calls).toBe(calls);
  const { nowMs, state } = await readResource(database, 'd1');
  expect(state.pausedUntilMs).toBeGreaterThan(nowMs);

  await passTime(database, 'd1', '{pausedUntilMs}');
  await until(() => service.calls > calls);
  await rowmill.cancel(jobId);
});

test('an operator pauses, raises and lowers a resource in use; each change is audited', async () => {
  const service = new CountingService();
  const pipeline = await startWorkers(service, { count: 2, limits: { e1: { ratePerSecond: 50 } } });
  const set = (change: object) =>
    overrideResource(contextOf(rowmill), { name: 'e1', change, actor: 'tests' });
  const sinceMs = await databaseMs(database);
  const jobId = await rowmill.submit(pipeline, rows(10_000));
  await until(() => service.calls > 20);
  await set({ paused: true });
  await heard('e1');
  const { calls } = service;
  await expectPlaces(database, calls, { name: 'e1', perSecond: 50, sinceMs });
  await heard('e1');
  expect(service.calls).toBe(calls);
  const [listed] = await listResources(contextOf(rowmill).db, 'e1', 10);
  expect(listed).toMatchObject({ name: 'e1', override: { paused: true }, limits: { ratePerSecond: 50 } });

  const resumedMs = await databaseMs(database);
  await set({ paused: null, ratePerSecond: 200 });
  await until(() => service.calls > calls + 200);
  const more = service.calls - calls;
  await expectPlaces(database, more, { name: 'e1', perSecond: 200, sinceMs: resumedMs });
  // Starts are scheduled at the higher rate.
  expect((await readResource(database, 'e1')).state.perSecond).toBe(200);

  await set({ ratePerSecond: 20 });
  await heard('e1');
  expect((await readResource(database, 'e1')).state.perSecond).toBe(20);
  await rowmill.cancel(jobId);
  const audit = await database.query<{ actor: string; detail: { change: object } }>(
    `select actor, detail from audit where subject = 'resource e1' order by audit_id`,
  );
  expect(audit.slice(-3).map(({ actor, detail }) => [actor, detail.change])).toEqual([
    ['tests', { paused: true }],
    ['tests', { paused: null, ratePerSecond: 200 }],
    ['tests', { ratePerSecond: 20 }],
  ]);
});

test('a service that only fails is no longer called, and is used again when it answers', async () => {
  const service = new CountingService();
  let isDown = true;
  service.answer = () => (isDown ? Object.assign(new Error('down'), { status: 503 }) : { ok: true });
  const pipeline = await startWorkers(service, { count: 2, limits: { f1: { concurrency: 5 } } });
  /** Calls so far, at each opening of the circuit. */
  const callsAtOpening: number[] = [];
  contextOf(rowmill).events.on('resource.decided', ({ kind, to }) => {
    if (kind === 'circuit' && to === 'open') callsAtOpening.push(service.calls);
  });
  const jobId = await rowmill.submit(pipeline, rows(200));
  await until(() => callsAtOpening.length > 0);
  // From now on the failure of a call is synced before the next but one can start.
  service.whenAnswering = () => heard('f1');
  for (let openings = 1; openings < 5; openings += 1) {
    await until(() => callsAtOpening.length >= openings);
    await passTime(database, 'f1', '{circuit,openUntilMs}');
  }
  await until(() => callsAtOpening.length >= 5);
  const probes = callsAtOpening.slice(2).map((calls, at) => calls - callsAtOpening[at + 1]!);
  console.log(`calls at each opening of the circuit: ${callsAtOpening.join(', ')}`);
  // By the second opening all calls with a permit from before the first are done. Then one call at a time probes.
  expect(Math.max(...probes)).toBeLessThanOrEqual(2);

  const { calls } = service;
  service.whenAnswering = () => waitMs(20);
  isDown = false;
  await passTime(database, 'f1', '{circuit,openUntilMs}');
  const summary = await rowmill.whenFinished(jobId);
  expect(summary.counts.DONE).toBe(200);
  expect(service.calls - calls).toBeLessThanOrEqual(200);
});

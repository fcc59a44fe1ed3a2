import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freeAdmission } from '../../../test/support/free-admission.ts';
import { NO_HOLDER } from '../../../test/support/lease-holder.ts';
import { silentLogger } from '../../../test/support/silent-logger.ts';
import { ErrorSpike } from '../../core/limits/error-spike.ts';
import { defaultRetryPolicy, type RetryPolicy } from '../../core/retries/retry-policy.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { definePipeline } from '../../pipeline/define-pipeline.ts';
import { openBlobStore } from '../../platform/blob-store/open-blob-store.ts';
import { turnOfLoop } from '../../platform/clock.ts';
import { Events } from '../../platform/events.ts';
import type { ManyPhase, SinglePhase } from '../../pipeline/pipeline.ts';
import { loadSettings } from '../../platform/settings.ts';
import { PoolOrder } from '../claims/pool-order.ts';
import { FlushBacklog } from '../flush/flush-backlog.ts';
import { ResultColumns } from '../flush/result-columns.ts';
import { HeldLeases } from '../leases/held-leases.ts';
import { Lease } from '../leases/lease.ts';
import type { LeaseKeeper } from '../leases/lease-keeper.ts';
import { Background } from '../process/background.ts';
import type { HandlerThreads } from './handler-threads.ts';
import { itemOutcome } from './item-outcome.ts';
import { PhasePool } from './phase-pool.ts';
import type { PhaseRuntime } from './run-item.ts';
import type { RunningItem } from './running-item.ts';
import { ZombieWatch } from './zombie-watch.ts';

type Row = Record<string, unknown>;
type AnyPhase = Partial<SinglePhase<Row, undefined, unknown>> | Partial<ManyPhase<Row, undefined, unknown>>;

interface HeldCall {
  seqs: number[];
  jobId: string;
  signal: AbortSignal;
  itemSignals: AbortSignal[];
  answer: (values: unknown[]) => Promise<void>;
}

let pool: PhasePool;
/** `seq status` as recorded, `seq given up` as dropped. */
let ends: string[];
let dropped: number;
let zombies: number;
/** Calls of `holdMany`, in order. */
let held: HeldCall[];
/** Delays of retries, in the order in which they were recorded. */
let delaysMs: number[];
afterEach(() => pool.close());

const holdMany: ManyPhase<Row, undefined, unknown>['runMany'] = (items, { jobId, signal }) =>
  new Promise((resolve) => {
    held.push({
      seqs: items.map(({ seq }) => seq),
      jobId,
      signal,
      itemSignals: items.map((item) => item.signal),
      answer: async (values) => {
        resolve(values);
        await settled();
      },
    });
  });

/** Lets the pool finish: one that used up its turn continues in the next turn of the loop. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 4; turns += 1) await turnOfLoop();
}

function openPool(
  phase: AnyPhase,
  options: {
    slots?: number;
    timeoutMs?: number;
    pressure?: { readonly factor: number };
    spike?: ErrorSpike;
    retryPolicy?: RetryPolicy;
    threads?: HandlerThreads;
  } = {},
): PhasePool {
  const pipeline = definePipeline({
    name: 'test',
    phases: [{ name: 'only', ...phase } as SinglePhase<Row, undefined, unknown>],
  });
  [ends, held, delaysMs, dropped, zombies] = [[], [], [], 0, 0];
  const slots = options.slots ?? 2;
  const runtime: PhaseRuntime = {
    pipeline,
    phase: pipeline.phases[0]!,
    isLastPhase: true,
    readsOutputs: false,
    schema: pipeline.input,
    retryPolicy: options.retryPolicy ?? defaultRetryPolicy({ maxAttemptsError: 1, maxAttemptsNotFound: 1 }),
    jitter: () => 0.5,
    resultMaxBytes: 1000,
    columns: new ResultColumns(10),
    limits: { emitMaxPerItem: 10, logMaxLines: 100, logMaxBytes: 10_000 },
  };
  const admission = freeAdmission({
    slots,
    itemsPerCall: phase.batch?.maxItems ?? 1,
    ...(options.pressure && { pressure: options.pressure }),
    ...(options.spike && { spike: options.spike }),
  });
  const events = new Events();
  const zombieWatch = new ZombieWatch(1000, events, silentLogger);
  zombieWatch.add = () => {
    zombies += 1;
  };
  pool = new PhasePool(
    {
      runtime,
      phaseIndex: 0,
      slots,
      timeoutMs: options.timeoutMs ?? 60_000,
      admission,
      threads: options.threads ?? null,
    },
    {
      log: silentLogger,
      blobs: openBlobStore('not-used'),
      writer: {
        record: (_, outcome) => {
          if (outcome.kind === 'retry') delaysMs.push(outcome.delayMs);
          ends.push(`${outcome.seq} ${outcome.failure?.class ?? outcome.json}`);
        },
        drop: (_, count) => {
          dropped += count;
        },
      },
      backlog: new FlushBacklog(loadSettings({ flags: {} }), events),
      order: new PoolOrder(),
      zombies: zombieWatch,
      finder: { hint: () => {} },
    },
  );
  return pool;
}

function leaseOf(seqs: number[], jobId = 'job'): Lease {
  const items = seqs.map((seq) => ({ seq, input: '{}', previous: null, outputs: null }));
  const owner = { ownerId: 'owner', weight: 1, maxInFlight: null };
  const claim = {
    jobId,
    generation: 1,
    phase: 0,
    attempt: 0,
    failures: '',
    priority: 0,
    items,
    owner,
  } as unknown as Claim;
  return new Lease(claim, 60_000, NO_HOLDER);
}

async function addAll(...leases: Lease[]): Promise<void> {
  for (const lease of leases) pool.add(lease);
  await settled();
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe('calls of many items', () => {
  it('are filled from queued items across leases, and do not wait for more', async () => {
    openPool({ batch: { maxItems: 4 }, runMany: holdMany }, { slots: 1 });
    await addAll(leaseOf([0]));
    expect(held.map(({ seqs }) => seqs)).toEqual([[0]]);
    await addAll(leaseOf([1, 2, 3]), leaseOf([4, 5]));
    expect(pool.stats()).toMatchObject({ idle: 0, busy: 1, queued: 5, calls: 1 });
    await held[0]!.answer(['a']);
    await held[1]!.answer(['b', 'c', 'd', 'e']);
    await held[2]!.answer(['f']);
    expect(held.map(({ seqs }) => seqs)).toEqual([[0], [1, 2, 3, 4], [5]]);
    expect(ends).toEqual(['0 "a"', '1 "b"', '2 "c"', '3 "d"', '4 "e"', '5 "f"']);
    expect(pool.stats()).toMatchObject({ idle: 1, busy: 0, error: 0, queued: 0, calls: 3, timeouts: 0 });
  });

  it('take one slot each, and items of one job', async () => {
    openPool({ batch: { maxItems: 4 }, runMany: holdMany }, { slots: 2 });
    await addAll(leaseOf(upTo(3), 'a'), leaseOf([7], 'b'), leaseOf([8], 'b'), leaseOf([9], 'a'));
    expect(held.map(({ jobId, seqs }) => [jobId, seqs])).toEqual([
      ['a', [0, 1, 2]],
      ['b', [7, 8]],
    ]);
    expect(pool.stats()).toMatchObject({ idle: 0, busy: 2, queued: 1 });
  });

  it('that are not full wait for a running claim if maxWaitMs is set', async () => {
    openPool({ batch: { maxItems: 4, maxWaitMs: 60_000 }, runMany: holdMany });
    pool.demand.noteIncoming('owner', 10);
    await addAll(leaseOf([0, 1]));
    expect(held).toEqual([]);
    await addAll(leaseOf([2, 3]));
    expect(held.map(({ seqs }) => seqs)).toEqual([[0, 1, 2, 3]]);
    pool.demand.noteIncoming('owner', -10);
    await addAll(leaseOf([4]));
    expect(held[1]!.seqs).toEqual([4]);
  });

  it('wait no longer than maxWaitMs', async () => {
    let called: () => void = () => {};
    const call = new Promise<void>((resolve) => {
      called = resolve;
    });
    openPool({
      batch: { maxItems: 4, maxWaitMs: 5 },
      runMany: (items) => {
        called();
        return items.map(() => 'x');
      },
    });
    pool.demand.noteIncoming('owner', 10);
    await addAll(leaseOf([0]));
    await call;
    await pool.whenIdle();
    await settled();
    expect(ends).toEqual(['0 "x"']);
  });

  it('lose the items of a lost lease, and keep the others', async () => {
    openPool({ batch: { maxItems: 4 }, runMany: holdMany }, { slots: 1 });
    await addAll(leaseOf([9]));
    const [lost, kept] = [leaseOf([0, 1]), leaseOf([2, 3])];
    await addAll(lost, kept);
    await held[0]!.answer(['x']);
    pool.abandonRunning(new Set([lost]), new Error('the lease was lost'));
    expect(dropped).toBe(2);
    expect(held[1]!.itemSignals.map(({ aborted }) => aborted)).toEqual([true, true, false, false]);
    expect(held[1]!.signal.aborted).toBe(false);
    expect(pool.stats()).toMatchObject({ busy: 1, error: 0 });
    await held[1]!.answer(['a', 'b', 'c', 'd']);
    expect(ends).toEqual(['9 "x"', '2 "c"', '3 "d"']);
  });

  it('are aborted and free their slot when their last lease is lost', async () => {
    openPool({ batch: { maxItems: 4 }, runMany: holdMany }, { slots: 1 });
    const lease = leaseOf([0, 1]);
    await addAll(lease);
    pool.abandonRunning(new Set([lease]), new Error('the lease was lost'));
    expect(held[0]!.signal.aborted).toBe(true);
    expect(pool.stats()).toMatchObject({ idle: 1, busy: 0, error: 1 });
    await held[0]!.answer(['a', 'b']);
    expect(pool.stats()).toMatchObject({ error: 0 });
    expect([ends, dropped]).toEqual([[], 2]);
  });

  it('that time out fail each of their items, and a late answer does not count', async () => {
    openPool({ batch: { maxItems: 4 }, runMany: holdMany }, { slots: 1, timeoutMs: 20 });
    await addAll(leaseOf([0, 1]));
    await pool.whenIdle();
    expect(ends).toEqual(['0 timeout', '1 timeout']);
    expect(held[0]!.signal.aborted).toBe(true);
    expect([...held[0]!.itemSignals].every(({ aborted }) => aborted)).toBe(true);
    expect(pool.stats()).toMatchObject({ idle: 1, busy: 0, error: 1, timeouts: 1 });
    expect(zombies).toBe(1);
    await held[0]!.answer(['a', 'b']);
    expect(ends).toHaveLength(2);
    expect(pool.stats()).toMatchObject({ error: 0, timeouts: 1 });
  });

  it('record the time per item, not per call', async () => {
    openPool({ batch: { maxItems: 100 }, runMany: holdMany }, { timeoutMs: 50 });
    await addAll(leaseOf(upTo(100)));
    await pool.whenIdle();
    expect(pool.itemMs.quantile(0.5)).toBeGreaterThanOrEqual(0.5);
    expect(pool.itemMs.quantile(0.5)).toBeLessThan(40);
  });
});

it('a handler that ignores its abort loses its slot and counts as an error until it returns', async () => {
  let release: () => void = () => {};
  const stuck = new Promise<void>((resolve) => {
    release = resolve;
  });
  openPool({ run: (_, { seq }) => (seq === 0 ? stuck : 'x') }, { slots: 1, timeoutMs: 20 });
  await addAll(leaseOf([0, 1]));
  await pool.whenIdle();
  await settled();
  expect(ends).toEqual(['0 timeout', '1 "x"']);
  expect(pool.stats()).toEqual({
    pipeline: 'test',
    phase: 'only',
    idle: 1,
    busy: 0,
    error: 1,
    queued: 0,
    waiting: 0,
    calls: 2,
    timeouts: 1,
    replacedThreads: 0,
  });
  release();
  await settled();
  expect(pool.stats()).toMatchObject({ error: 0 });
  expect(zombies).toBe(1);
});

describe('under pressure', () => {
  it('a pool uses only a share of its slots, and all of them when the pressure is over', async () => {
    const pressure = { factor: 0.25 };
    openPool({ batch: { maxItems: 1 }, runMany: holdMany }, { slots: 40, pressure });
    await addAll(leaseOf(upTo(60)));
    expect(held).toHaveLength(10);
    expect(pool.slotsNow).toBe(10);
    await held[0]!.answer(['a']);
    expect(pool.stats()).toMatchObject({ busy: 10, queued: 49 });
    pressure.factor = 1;
    pool.pump();
    await settled();
    expect(pool.stats()).toMatchObject({ busy: 40, queued: 19 });
  });

  it('running calls complete when the pressure rises, and at least one slot stays in use', async () => {
    const pressure = { factor: 1 };
    openPool({ batch: { maxItems: 1 }, runMany: holdMany }, { slots: 3, pressure });
    await addAll(leaseOf(upTo(6)));
    pressure.factor = 0.05;
    pool.pump();
    expect(pool.stats()).toMatchObject({ busy: 3, queued: 3 });
    for (const call of held.slice(0, 3)) await call.answer(['a']);
    expect(pool.stats()).toMatchObject({ busy: 1, queued: 2 });
  });
});

describe('when failures of a phase rise', () => {
  it('retries wait longer by the same factor as slots are reduced, until the spike is over', async () => {
    let isDown = true;
    const run = () => {
      if (isDown) throw Object.assign(new Error('down'), { status: 503 });
      return 'up';
    };
    const retryPolicy = {
      ...defaultRetryPolicy({ maxAttemptsError: 9, maxAttemptsNotFound: 1 }),
      overloaded: { maxAttempts: 9, baseMs: 1000, factor: 1, capMs: 1000 },
    };
    const spike = new ErrorSpike();
    openPool({ run }, { slots: 40, retryPolicy, spike });
    let lookMs = 0;
    const afterCalls = async (count: number): Promise<number> => {
      delaysMs = [];
      await addAll(leaseOf(upTo(count)));
      await pool.whenIdle();
      lookMs += 1000;
      spike.look(lookMs);
      return pool.slotsNow;
    };
    expect(await afterCalls(20)).toBe(20);
    expect(new Set(delaysMs)).toEqual(new Set([500]));
    expect(await afterCalls(20)).toBe(10);
    expect(new Set(delaysMs)).toEqual(new Set([1000]));
    await afterCalls(20);
    expect(new Set(delaysMs)).toEqual(new Set([2000]));
    isDown = false;
    for (let looks = 0; looks < 7; looks += 1) await afterCalls(20);
    isDown = true;
    expect(pool.slotsNow).toBe(40);
    await afterCalls(20);
    expect(new Set(delaysMs)).toEqual(new Set([500]));
  });
});

describe('leases that end together', () => {
  // With a frozen clock the pool stays in a turn that has just begun, and fills a free slot immediately.
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
  afterEach(() => void vi.useRealTimers());

  /** Three leases of one job and one of another. The first has the only slot that the pressure allows. */
  async function holdFour(): Promise<{ leases: HeldLeases; ofJob: Lease[]; pressure: { factor: number } }> {
    const pressure = { factor: 0.5 };
    openPool({ batch: { maxItems: 1 }, runMany: holdMany }, { slots: 2, pressure });
    const keeper = { hold: () => {}, drop: () => {} } as unknown as LeaseKeeper;
    const background = new Background(new Events());
    const control = {} as EngineContext;
    const leases = new HeldLeases({ control, workerId: 'worker', keeper, background });
    const all = [[0], [1], [2], [7]].map((seqs) => {
      const { claim } = leaseOf(seqs, seqs[0] === 7 ? 'other' : 'job');
      return leases.hold(claim, 60_000, pool, { end: () => {} });
    });
    await addAll(...all);
    expect(started()).toEqual([[0]]);
    return { leases, ofJob: all.slice(0, 3), pressure };
  }

  const started = (): number[][] => held.map(({ seqs }) => seqs);

  it('start no item of each other when their job is cancelled, and make room for another job', async () => {
    const { leases, ofJob } = await holdFour();
    leases.cancel(ofJob);
    await settled();
    expect(held[0]!.signal.aborted).toBe(true);
    expect([started(), dropped]).toEqual([[[0], [7]], 3]);
    expect(pool.stats()).toMatchObject({ calls: 2 });
  });

  it('start no item of each other when their job is paused, and let the running item finish', async () => {
    const { leases, ofJob, pressure } = await holdFour();
    // The second slot is free from now on.
    pressure.factor = 1;
    leases.giveBackUnstarted(ofJob);
    await held[0]!.answer(['x']);
    expect([started(), dropped, ends]).toEqual([[[0], [7]], 2, ['0 "x"']]);
    expect(pool.stats()).toMatchObject({ calls: 2 });
  });
});

// An abandoned call keeps its thread until it returns, so its slot is free before its thread is.
it('starts the next item in a thread that an abandoned call has left', async () => {
  const started: number[] = [];
  const returns: (() => void)[] = [];
  const threads = {
    idleCount: 1,
    stop: async () => {},
    run: (item: RunningItem) => {
      started.push(item.seq);
      threads.idleCount = 0;
      return new Promise<RecordedOutcome>((resolve) => {
        returns.push(() => {
          threads.idleCount = 1;
          resolve(itemOutcome(item, 'terminal', 'DONE', 'null', null, 0));
        });
      });
    },
  };
  openPool({ run: () => null }, { threads: threads as unknown as HandlerThreads });
  const [lost, kept] = [leaseOf([0]), leaseOf([1])];
  await addAll(lost, kept);
  pool.abandonRunning(new Set([lost]), new Error('the lease was lost'));
  pool.pump();
  expect(started).toEqual([0]);
  returns[0]!();
  await settled();
  expect(started).toEqual([0, 1]);
});

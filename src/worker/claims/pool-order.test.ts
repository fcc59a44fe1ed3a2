import { afterEach, expect, it } from 'vitest';
import { freeAdmission } from '../../../test/support/free-admission.ts';
import { NO_HOLDER } from '../../../test/support/lease-holder.ts';
import { silentLogger } from '../../../test/support/silent-logger.ts';
import { defaultRetryPolicy } from '../../core/retries/retry-policy.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import { definePipeline } from '../../pipeline/define-pipeline.ts';
import { openBlobStore } from '../../platform/blob-store/open-blob-store.ts';
import { turnOfLoop } from '../../platform/clock.ts';
import { Events } from '../../platform/events.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { loadSettings } from '../../platform/settings.ts';
import { FlushBacklog } from '../flush/flush-backlog.ts';
import { ResultColumns } from '../flush/result-columns.ts';
import { Lease } from '../leases/lease.ts';
import { PhasePool } from '../run/phase-pool.ts';
import type { PhaseRuntime } from '../run/run-item.ts';
import { ZombieWatch } from '../run/zombie-watch.ts';
import { type OrderedPool, PoolOrder } from './pool-order.ts';

const ITEMS = 500;
let pools: PhasePool[];
let order: PoolOrder<PhasePool>;
/** Phase names, in call order. */
let calls: string[];
afterEach(() => Promise.all(pools.map((pool) => pool.close())));

/** Handlers return synchronously, so pools compete only for the event loop. */
function openPools(...pipelines: Record<string, number>[]): void {
  calls = [];
  order = new PoolOrder();
  pools = pipelines
    .map((priorities, i) =>
      definePipeline({
        name: `p${i}`,
        phases: Object.entries(priorities).map(([name, priority]) => ({
          name,
          priority,
          run: () => void calls.push(name),
        })),
      }),
    )
    .flatMap((pipeline) => pipeline.phases.map((_, phaseIndex) => openPool(pipeline, phaseIndex)));
}

function openPool(pipeline: Pipeline, phaseIndex: number): PhasePool {
  const runtime: PhaseRuntime = {
    pipeline,
    phase: pipeline.phases[phaseIndex]!,
    isLastPhase: true,
    readsOutputs: false,
    schema: pipeline.input,
    retryPolicy: defaultRetryPolicy({ maxAttemptsError: 1, maxAttemptsNotFound: 1 }),
    resultMaxBytes: 1000,
    columns: new ResultColumns(10),
    limits: { emitMaxPerItem: 10, logMaxLines: 100, logMaxBytes: 10_000 },
  };
  const admission = freeAdmission({ slots: ITEMS });
  const events = new Events();
  return new PhasePool(
    { runtime, phaseIndex, slots: ITEMS, timeoutMs: 60_000, admission, threads: null },
    {
      log: silentLogger,
      blobs: openBlobStore('not-used'),
      writer: { record: () => {}, drop: () => {} },
      backlog: new FlushBacklog(loadSettings({ flags: {} }), events),
      zombies: new ZombieWatch(10, events, silentLogger),
      finder: { hint: () => {} },
      order,
    },
  );
}

async function runAll(): Promise<string[]> {
  for (const [i, pool] of pools.entries()) {
    const items = Array.from({ length: ITEMS }, (_, seq) => ({
      seq,
      input: '{}',
      previous: null,
      outputs: null,
    }));
    const owner = { ownerId: 'owner', weight: 1, maxInFlight: null };
    const claim = {
      jobId: 'job',
      generation: 1,
      phase: i,
      attempt: 0,
      failures: '',
      priority: 0,
      items,
      owner,
    };
    pool.add(new Lease(claim as unknown as Claim, 60_000, NO_HOLDER));
  }
  while (calls.length < ITEMS * pools.length) await turnOfLoop();
  const runs = calls.filter((name, i) => name !== calls[i - 1]);
  return runs;
}

it('gives the event loop to the highest priority until that has nothing left to start', async () => {
  openPools({ low: 0 }, { high: 1 }, { higher: 2 });
  expect(await runAll()).toEqual(['higher', 'high', 'low']);
});

it('gives the event loop to later phases before earlier ones', async () => {
  openPools({ first: 0, second: 0, third: 0 });
  expect(await runAll()).toEqual(['third', 'second', 'first']);
});

it('shares the event loop among pipelines of equal priority', async () => {
  openPools({ one: 0 }, { other: 0 });
  expect((await runAll()).length).toBeGreaterThan(2);
});

it('stops lower-priority pools first when unwritten outcomes pile up', () => {
  const phases = {
    first: ['a', 0, 0],
    second: ['a', 1, 0],
    other: ['b', 0, 0],
    urgent: ['c', 0, 1],
  } as const;
  const joined = new PoolOrder<OrderedPool & { name: string }>();
  const places = Object.entries(phases).map(([name, [pipeline, index, priority]]) => {
    const pool = { name, order: { pipeline, index, priority }, isYielding: false, pump: () => {} };
    return [name, joined.join(pool)] as const;
  });
  const shares = Object.fromEntries(places.map(([name, { backlogShare }]) => [name, backlogShare]));
  expect(shares.urgent).toBe(1);
  expect(shares.second).toBeLessThan(1);
  expect(shares.other).toBe(shares.second);
  expect(shares.first).toBeLessThan(shares.second!);
  expect(joined.inOrder.map(({ name }) => name)).toEqual(['urgent', 'second', 'first', 'other']);
});

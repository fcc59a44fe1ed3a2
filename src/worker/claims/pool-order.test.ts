import { afterEach, expect, it } from 'vitest';
import { NO_HOLDER } from '../../../test/support/lease-holder.ts';
import { defaultRetryPolicy } from '../../core/retries/retry-policy.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import { definePipeline } from '../../pipeline/define-pipeline.ts';
import { openBlobStore } from '../../platform/blob-store/open-blob-store.ts';
import { turnOfLoop } from '../../platform/clock.ts';
import { silentLogger } from '../../platform/logger.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { ResultColumns } from '../flush/result-columns.ts';
import { Lease } from '../leases/lease.ts';
import { PhasePool } from '../run/phase-pool.ts';
import { PoolOrder } from './pool-order.ts';

const ITEMS = 500;
let pools: PhasePool[];
let order: PoolOrder;
/** Names of phases, in the order of their calls. */
let calls: string[];
afterEach(() => Promise.all(pools.map((pool) => pool.close())));

/** Handlers answer at once: they compete for the event loop alone. */
function openPools(...pipelines: Record<string, number>[]): void {
  calls = [];
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
  order = new PoolOrder(pools);
}

function openPool(pipeline: Pipeline, phaseIndex: number): PhasePool {
  const pool: PhasePool = new PhasePool({
    runtime: {
      pipeline,
      phase: pipeline.phases[phaseIndex]!,
      isLastPhase: true,
      retryPolicy: defaultRetryPolicy({ maxAttemptsError: 1, maxAttemptsNotFound: 1 }),
      resultMaxBytes: 1000,
      columns: new ResultColumns(10),
      limits: { emitMaxPerItem: 10 },
    },
    phaseIndex,
    slots: ITEMS,
    timeoutMs: 60_000,
    log: silentLogger,
    blobs: openBlobStore('not-used'),
    gate: { isUniform: true, permitsOf: () => null, chargeOf: () => null, version: () => 0 },
    writer: { record: () => {}, drop: () => {} },
    mayStart: () => order.hasTurn(pool),
    onHungry: () => {},
    onRested: () => order.pumpBehind(pool),
  });
  return pool;
}

async function runAll(): Promise<string[]> {
  for (const [i, pool] of pools.entries()) {
    const items = Array.from({ length: ITEMS }, (_, seq) => ({ seq, input: '{}', previous: null }));
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

it('gives the event loop to the higher priority until it has nothing more to start', async () => {
  openPools({ low: 0 }, { high: 1 }, { higher: 2 });
  expect(await runAll()).toEqual(['higher', 'high', 'low']);
});

it('gives it to later phases before earlier ones', async () => {
  openPools({ first: 0, second: 0, third: 0 });
  expect(await runAll()).toEqual(['third', 'second', 'first']);
});

it('shares it among pipelines whose priority is the same', async () => {
  openPools({ one: 0 }, { other: 0 });
  expect((await runAll()).length).toBeGreaterThan(2);
});

it('lets those with a lower place stop first when outcomes pile up', () => {
  openPools({ first: 0, second: 0 }, { other: 0 }, { urgent: 1 });
  const shares = Object.fromEntries(
    pools.map((pool) => [pool.options.runtime.phase.name, order.backlogShare(pool)]),
  );
  expect(shares.urgent).toBe(1);
  expect(shares.second).toBeLessThan(1);
  expect(shares.other).toBe(shares.second);
  expect(shares.first).toBeLessThan(shares.second!);
  expect(order.inOrder.map((pool) => pool.options.runtime.phase.name)).toEqual([
    'urgent',
    'second',
    'first',
    'other',
  ]);
});

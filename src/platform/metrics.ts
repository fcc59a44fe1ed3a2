// Metrics in process, fed by events and by numbers that parts keep anyway: nothing in the engine knows about them.
import { Counter, Gauge, Histogram, Registry, Summary } from 'prom-client';
import { LabelBound } from '../core/limits/label-bound.ts';
import type { PoolStats } from '../core/limits/pool-stats.ts';
import type { Database } from './database.ts';
import { databaseErrorKind } from './database-error.ts';
import type { Events } from './events.ts';

/** Keys of a resource with series of their own. Keys may be hosts out of the rows of a file. */
const KEYS_PER_RESOURCE = 50;

export interface Metrics {
  registry: Registry;
  /** The numbers seed systems asked for, as plain values: for the CLI, benches and tests. */
  snapshot(): Promise<Record<string, number>>;
  stop(): void;
}

export interface MetricsSources {
  /** Outcomes not yet committed, and the bound at which claims stop. */
  bufferFullness?: () => number;
  /** Connections of this process. */
  databases?: readonly Pick<Database, 'transactions' | 'onWaited'>[];
  /** What the slots of each phase are doing. */
  pools?: () => PoolStats[];
}

export function createMetrics(events: Events, sources: MetricsSources = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []): Counter =>
    new Counter({ name, help, labelNames, registers });
  const itemsAdded = counter('rowmill_items_added_total', 'Items stored by ingest');
  const itemsClaimed = counter('rowmill_items_claimed_total', 'Items claimed');
  const claims = counter('rowmill_claims_total', 'Claims that brought items');
  const flushes = counter('rowmill_flushes_total', 'Committed flushes', ['trigger']);
  const rollbacks = counter('rowmill_flush_rollbacks_total', 'Flush transactions rolled back', ['kind']);
  const flushed = counter('rowmill_items_flushed_total', 'Outcomes committed');
  const ended = counter('rowmill_items_ended_total', 'Items that ended, by status', ['status']);
  const calls = counter('rowmill_resource_calls_total', 'Calls that ended, by resource, key and answer', [
    'resource',
    'key',
    'answer',
  ]);
  const keys = new LabelBound(KEYS_PER_RESOURCE);
  const retried = counter('rowmill_items_retried_total', 'Attempts that will be tried again');
  const fenced = counter('rowmill_outcomes_fenced_total', 'Outcomes that came after their lease was lost');
  const counted = counter('rowmill_counter_contributions_total', 'Contributions to counters committed');
  const folded = counter('rowmill_counter_deltas_folded_total', 'Deltas folded into the scopes of counters');
  const drifted = counter('rowmill_counter_drift_total', 'Rows of counters that a check found drifted', [
    'level',
  ]);
  const rescued = counter('rowmill_leases_rescued_total', 'Leases taken back from workers that are gone');
  const lost = counter('rowmill_leases_lost_total', 'Leases this process lost');
  const unpersisted = counter('rowmill_outcomes_unpersisted_total', 'Outcomes given up at shutdown');
  const finished = counter('rowmill_jobs_finished_total', 'Jobs finished', ['outcome']);
  const failures = counter('rowmill_background_failures_total', 'Background work that failed', [
    'service',
    'kind',
  ]);
  const bufferFull = counter('rowmill_buffer_full_total', 'Times that a full buffer stopped claims');
  const flushItems = new Histogram({
    name: 'rowmill_flush_items',
    help: 'Outcomes per flush',
    buckets: [1, 10, 50, 100, 500, 1000, 2000, 5000, 10_000],
    registers,
  });
  const quantiles = { percentiles: [0.5, 0.95, 0.99], maxAgeSeconds: 600, ageBuckets: 5, registers };
  const flushMs = new Summary({ name: 'rowmill_flush_ms', help: 'Duration of a flush', ...quantiles });
  const claimToCommitMs = new Summary({
    name: 'rowmill_claim_to_commit_ms',
    help: 'From the claim of a lease to the commit of its outcomes',
    ...quantiles,
  });
  const claimMs = new Summary({ name: 'rowmill_claim_ms', help: 'Duration of a claim', ...quantiles });
  const ingestMs = new Summary({
    name: 'rowmill_ingest_batch_ms',
    help: 'Duration of storing a batch of rows of a file',
    ...quantiles,
  });
  const finishLagMs = new Summary({
    name: 'rowmill_finish_lag_ms',
    help: 'From the moment at which nothing of a job was left to run to its end, by the clock of the database',
    ...quantiles,
  });
  if (sources.bufferFullness) {
    const fullness = sources.bufferFullness;
    new Gauge({
      name: 'rowmill_buffer_fullness',
      help: 'Outcomes not yet committed, as part of the bound at which claims stop',
      registers,
      collect() {
        this.set(fullness());
      },
    });
  }

  if (sources.databases) {
    const { databases } = sources;
    new Gauge({
      name: 'rowmill_database_transactions',
      help: 'Transactions of this process since it started',
      labelNames: ['end'],
      registers,
      collect() {
        const sum = (end: 'committed' | 'rolledBack'): number =>
          databases.reduce((total, { transactions }) => total + transactions[end], 0);
        this.set({ end: 'commit' }, sum('committed'));
        this.set({ end: 'rollback' }, sum('rolledBack'));
      },
    });
    const poolWaitMs = new Summary({
      name: 'rowmill_pool_wait_ms',
      help: 'Time that a transaction waited for its connection',
      ...quantiles,
    });
    for (const db of databases) db.onWaited = (ms) => poolWaitMs.observe(ms);
  }

  if (sources.pools) addPoolMetrics(registry, sources.pools);

  const off = [
    events.on('items.added', (e) => itemsAdded.inc(e.items)),
    events.on('ingest.batch', (e) => ingestMs.observe(e.ms)),
    events.on('resource.synced', ({ name: resource, key, ...answers }) => {
      const label = keys.labelOf(resource, key);
      for (const [answer, count] of Object.entries(answers))
        calls.inc({ resource, key: label, answer }, count);
    }),
    events.on('claim.made', (e) => {
      claims.inc();
      itemsClaimed.inc(e.items);
      claimMs.observe(e.ms);
    }),
    events.on('flush.committed', (e) => {
      flushes.inc({ trigger: e.trigger });
      flushed.inc(e.items);
      retried.inc(e.retried);
      for (const [status, count] of Object.entries(e.ended)) ended.inc({ status }, count);
      flushItems.observe(e.items);
      flushMs.observe(e.ms);
      claimToCommitMs.observe(e.claimToCommitMs);
    }),
    events.on('flush.rolled_back', (e) => rollbacks.inc({ kind: e.kind })),
    events.on('flush.fenced', (e) => fenced.inc(e.items)),
    events.on('buffer.changed', (e) => bufferFull.inc(e.to === 'full' ? 1 : 0)),
    events.on('counters.counted', (e) => counted.inc(e.contributions)),
    events.on('counters.folded', (e) => folded.inc(e.deltas)),
    events.on('counters.drifted', (e) => drifted.inc({ level: e.level }, e.rows)),
    events.on('lease.rescued', () => rescued.inc()),
    events.on('lease.lost', () => lost.inc()),
    events.on('worker.unpersisted', (e) => unpersisted.inc(e.items)),
    events.on('service.failed', (e) =>
      failures.inc({ service: e.service, kind: databaseErrorKind(e.error) }),
    ),
    events.on('job.finished', (e) => {
      finished.inc({ outcome: e.outcome });
      finishLagMs.observe(e.lagMs);
    }),
  ];

  return {
    registry,
    async snapshot() {
      const values: Record<string, number> = {};
      for (const metric of await registry.getMetricsAsJSON()) {
        for (const sample of metric.values as {
          value: number;
          metricName?: string;
          labels: Record<string, string | number>;
        }[]) {
          const labels = Object.entries(sample.labels).map(([key, value]) => `${key}=${value}`);
          const name = (sample.metricName ?? metric.name).replace(/^rowmill_/, '');
          values[labels.length > 0 ? `${name}{${labels.join(',')}}` : name] = sample.value;
        }
      }
      return values;
    },
    stop() {
      for (const unsubscribe of off) unsubscribe();
    },
  };
}

function addPoolMetrics(registry: Registry, pools: () => PoolStats[]): void {
  const registers = [registry];
  const labelNames = ['pipeline', 'phase'];
  new Gauge({
    name: 'rowmill_slots',
    help: 'Slots by state; error: aborted calls that have not returned, beside the others',
    labelNames: [...labelNames, 'state'],
    registers,
    collect() {
      for (const { pipeline, phase, ...pool } of pools())
        for (const state of ['idle', 'busy', 'error'] as const)
          this.set({ pipeline, phase, state }, pool[state]);
    },
  });
  const numbers = {
    queued: ['rowmill_queued_items', 'Items that are claimed and wait for a slot'],
    calls: ['rowmill_handler_calls', 'Handler calls since the process started'],
    timeouts: ['rowmill_handler_timeouts', 'Handler calls that ran out of time since the process started'],
    replacedThreads: ['rowmill_replaced_threads', 'Threads replaced since the process started'],
  } as const;
  for (const [key, [name, help]] of Object.entries(numbers)) {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const pool of pools())
          this.set({ pipeline: pool.pipeline, phase: pool.phase }, pool[key as keyof typeof numbers]);
      },
    });
  }
}

// Metrics of this process, fed by events and by numbers that other modules keep anyway. The engine does not depend on
// them.
import { Counter, Gauge, Histogram, Registry, Summary } from 'prom-client';
import { LabelBound } from '../core/limits/label-bound.ts';
import type { PoolStats } from '../core/limits/pool-stats.ts';
import type { Database } from './database.ts';
import { databaseErrorKind } from './database-error.ts';
import type { Events } from './events.ts';

/** Keys of a resource that get their own series. Keys may come from rows, so their number is unbounded. */
const KEYS_PER_RESOURCE = 50;

export interface Metrics {
  registry: Registry;
  /** All metrics as plain values, for the CLI, benches and tests. */
  snapshot(): Promise<Record<string, number>>;
  stop(): void;
}

export interface MetricsSources {
  /** Uncommitted outcomes as a share of the limit at which claims stop. */
  bufferFullness?: () => number;
  /** Connections of this process. */
  databases?: readonly Pick<Database, 'transactions' | 'onWaited'>[];
  /** Slots of each phase by state. */
  pools?: () => PoolStats[];
}

export function createMetrics(events: Events, sources: MetricsSources = {}): Metrics {
  const registry = new Registry();
  const subjects = [countItems, countFlushes, countLeases, countJobs, countCounters, countResources];
  const off = subjects.flatMap((subject) => subject(events, registry));
  if (sources.bufferFullness) addBufferMetrics(registry, sources.bufferFullness);
  if (sources.databases) addDatabaseMetrics(registry, sources.databases);
  if (sources.pools) addPoolMetrics(registry, sources.pools);
  return {
    registry,
    snapshot: () => readAll(registry),
    stop() {
      for (const unsubscribe of off) unsubscribe();
    },
  };
}

type Unsubscribe = () => void;

function counter(registry: Registry, name: string, help: string, labelNames: string[] = []): Counter {
  return new Counter({ name, help, labelNames, registers: [registry] });
}

/** Quantiles over the last ten minutes. */
function summary(registry: Registry, name: string, help: string): Summary {
  return new Summary({
    name,
    help,
    percentiles: [0.5, 0.95, 0.99],
    maxAgeSeconds: 600,
    ageBuckets: 5,
    registers: [registry],
  });
}

function countItems(events: Events, registry: Registry): Unsubscribe[] {
  const added = counter(registry, 'rowmill_items_added_total', 'Items stored by ingest');
  const ingestMs = summary(registry, 'rowmill_ingest_batch_ms', 'Time to store one ingest batch');
  const claims = counter(registry, 'rowmill_claims_total', 'Claims that returned items');
  const claimed = counter(registry, 'rowmill_items_claimed_total', 'Items claimed');
  const claimMs = summary(registry, 'rowmill_claim_ms', 'Duration of a claim');
  return [
    events.on('items.added', (e) => added.inc(e.items)),
    events.on('ingest.batch', (e) => ingestMs.observe(e.ms)),
    events.on('claim.made', (e) => {
      claims.inc();
      claimed.inc(e.items);
      claimMs.observe(e.ms);
    }),
  ];
}

function countFlushes(events: Events, registry: Registry): Unsubscribe[] {
  const flushes = counter(registry, 'rowmill_flushes_total', 'Committed flushes', ['trigger']);
  const rollbacks = counter(registry, 'rowmill_flush_rollbacks_total', 'Flush transactions rolled back', [
    'kind',
  ]);
  const flushed = counter(registry, 'rowmill_items_flushed_total', 'Outcomes committed');
  const ended = counter(registry, 'rowmill_items_ended_total', 'Finished items by status', ['status']);
  const retried = counter(registry, 'rowmill_items_retried_total', 'Failed attempts that will be retried');
  const fenced = counter(
    registry,
    'rowmill_outcomes_fenced_total',
    'Outcomes discarded because their lease was lost',
  );
  const bufferFull = counter(registry, 'rowmill_buffer_full_total', 'How often a full buffer stopped claims');
  const items = new Histogram({
    name: 'rowmill_flush_items',
    help: 'Outcomes per flush',
    buckets: [1, 10, 50, 100, 500, 1000, 2000, 5000, 10_000],
    registers: [registry],
  });
  const flushMs = summary(registry, 'rowmill_flush_ms', 'Duration of a flush');
  const claimToCommitMs = summary(
    registry,
    'rowmill_claim_to_commit_ms',
    'From the claim of a lease to the commit of its outcomes',
  );
  return [
    events.on('flush.committed', (e) => {
      flushes.inc({ trigger: e.trigger });
      flushed.inc(e.items);
      retried.inc(e.retried);
      for (const [status, count] of Object.entries(e.ended)) ended.inc({ status }, count);
      items.observe(e.items);
      flushMs.observe(e.ms);
      claimToCommitMs.observe(e.claimToCommitMs);
    }),
    events.on('flush.rolled_back', (e) => rollbacks.inc({ kind: e.kind })),
    events.on('flush.fenced', (e) => fenced.inc(e.items)),
    events.on('buffer.changed', (e) => bufferFull.inc(e.to === 'full' ? 1 : 0)),
  ];
}

function countLeases(events: Events, registry: Registry): Unsubscribe[] {
  const rescued = counter(registry, 'rowmill_leases_rescued_total', 'Leases taken over from dead workers');
  const lost = counter(registry, 'rowmill_leases_lost_total', 'Leases that this process lost');
  const unpersisted = counter(registry, 'rowmill_outcomes_unpersisted_total', 'Outcomes dropped at shutdown');
  return [
    events.on('lease.rescued', () => rescued.inc()),
    events.on('lease.lost', () => lost.inc()),
    events.on('worker.unpersisted', (e) => unpersisted.inc(e.items)),
  ];
}

function countJobs(events: Events, registry: Registry): Unsubscribe[] {
  const finished = counter(registry, 'rowmill_jobs_finished_total', 'Jobs finished', ['outcome']);
  const finishLagMs = summary(
    registry,
    'rowmill_finish_lag_ms',
    "From a job's last row to the end of the job, by the database's clock",
  );
  const failures = counter(
    registry,
    'rowmill_background_failures_total',
    'Failed rounds of background work',
    ['service', 'kind'],
  );
  return [
    events.on('job.finished', (e) => {
      finished.inc({ outcome: e.outcome });
      finishLagMs.observe(e.lagMs);
    }),
    events.on('service.failed', (e) =>
      failures.inc({ service: e.service, kind: databaseErrorKind(e.error) }),
    ),
  ];
}

function countCounters(events: Events, registry: Registry): Unsubscribe[] {
  const counted = counter(
    registry,
    'rowmill_counter_contributions_total',
    'Committed contributions to counters',
  );
  const folded = counter(
    registry,
    'rowmill_counter_deltas_folded_total',
    'Deltas folded into the scopes of counters',
  );
  const drifted = counter(
    registry,
    'rowmill_counter_drift_total',
    'Counter rows that a counter check found drifted',
    ['level'],
  );
  return [
    events.on('counters.counted', (e) => counted.inc(e.contributions)),
    events.on('counters.folded', (e) => folded.inc(e.deltas)),
    events.on('counters.drifted', (e) => drifted.inc({ level: e.level }, e.rows)),
  ];
}

function countResources(events: Events, registry: Registry): Unsubscribe[] {
  const keys = new LabelBound(KEYS_PER_RESOURCE);
  const calls = counter(
    registry,
    'rowmill_resource_calls_total',
    'Finished calls by resource, key and answer',
    ['resource', 'key', 'answer'],
  );
  return [
    events.on('resource.synced', ({ name: resource, key, ...answers }) => {
      const label = keys.labelOf(resource, key);
      for (const [answer, count] of Object.entries(answers))
        calls.inc({ resource, key: label, answer }, count);
    }),
  ];
}

function addBufferMetrics(registry: Registry, fullness: () => number): void {
  new Gauge({
    name: 'rowmill_buffer_fullness',
    help: 'Uncommitted outcomes as a share of the limit at which claims stop',
    registers: [registry],
    collect() {
      this.set(fullness());
    },
  });
}

function addDatabaseMetrics(
  registry: Registry,
  databases: readonly Pick<Database, 'transactions' | 'onWaited'>[],
): void {
  new Gauge({
    name: 'rowmill_database_transactions',
    help: 'Transactions since the process started',
    labelNames: ['end'],
    registers: [registry],
    collect() {
      const sum = (end: 'committed' | 'rolledBack'): number =>
        databases.reduce((total, { transactions }) => total + transactions[end], 0);
      this.set({ end: 'commit' }, sum('committed'));
      this.set({ end: 'rollback' }, sum('rolledBack'));
    },
  });
  const waitMs = summary(registry, 'rowmill_pool_wait_ms', 'Time that a transaction waited for a connection');
  for (const db of databases) db.onWaited = (ms) => waitMs.observe(ms);
}

function addPoolMetrics(registry: Registry, pools: () => PoolStats[]): void {
  const registers = [registry];
  const labelNames = ['pipeline', 'phase'];
  new Gauge({
    name: 'rowmill_slots',
    help: 'Slots by state; error counts aborted calls that have not returned and no longer occupy a slot',
    labelNames: [...labelNames, 'state'],
    registers,
    collect() {
      for (const { pipeline, phase, ...pool } of pools())
        for (const state of ['idle', 'busy', 'error'] as const)
          this.set({ pipeline, phase, state }, pool[state]);
    },
  });
  const numbers = {
    queued: ['rowmill_queued_items', 'Claimed items that wait for a slot'],
    calls: ['rowmill_handler_calls', 'Handler calls since the process started'],
    timeouts: ['rowmill_handler_timeouts', 'Handler calls that timed out since the process started'],
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

async function readAll(registry: Registry): Promise<Record<string, number>> {
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
}

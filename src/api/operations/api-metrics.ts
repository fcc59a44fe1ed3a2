// Metrics for Prometheus: those of this process, and counts from the database, which are refreshed every
// metricsCacheMs.
import { Gauge } from 'prom-client';
import { JOB_STATES } from '../../core/jobs/job-state.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Database } from '../../platform/database.ts';
import { createMetrics, type Metrics } from '../../platform/metrics.ts';
import { readStats, type Stats } from '../../store/views/health/read-stats.ts';
import { type UsageToday, usageToday } from './usage-today.ts';

/** Units of costs that get their own series; others are left out, because amounts in different units do not add up. */
const UNITS_MAX = 20;

export function createApiMetrics({ db, events, settings }: EngineContext, reads: Database): Metrics {
  const metrics = createMetrics(events, { databases: [db, reads] });
  const registers = [metrics.registry];
  // The registry collects all gauges at once: one read serves all of them, and later scrapes for a while.
  let asked: Promise<[Stats, UsageToday]> | null = null;
  let askedMs = 0;
  const read = (): Promise<[Stats, UsageToday]> => {
    const nowMs = monotonicMs();
    if (asked === null || nowMs - askedMs > settings.metricsCacheMs) {
      askedMs = nowMs;
      asked = Promise.all([
        readStats(reads, null, settings.heartbeatMs * 3),
        usageToday(reads, null, UNITS_MAX),
      ]);
      asked.catch(() => {
        asked = null;
      });
    }
    return asked;
  };
  new Gauge({
    name: 'rowmill_jobs',
    help: 'Jobs by state',
    labelNames: ['state'],
    registers,
    async collect() {
      const [{ jobs }] = await read();
      for (const state of JOB_STATES) this.set({ state }, jobs[state] ?? 0);
    },
  });
  const numbers = {
    pending: ['rowmill_pending_items', 'Items that are waiting'],
    processing: ['rowmill_processing_items', 'Items leased by workers'],
    workersAlive: ['rowmill_workers', 'Workers with a recent heartbeat'],
  } as const;
  for (const [key, [name, help]] of Object.entries(numbers)) {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set((await read())[0][key as keyof typeof numbers]);
      },
    });
  }
  new Gauge({
    name: 'rowmill_cost_today',
    help: 'Cost since midnight UTC, by unit',
    labelNames: ['unit'],
    registers,
    async collect() {
      const [, { costs }] = await read();
      this.reset();
      for (const { costUnit, cost } of costs) this.set({ unit: costUnit ?? '' }, cost);
    },
  });
  return metrics;
}

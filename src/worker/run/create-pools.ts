// Creates one pool per phase of each of the worker's pipelines.
import type { Phase, Pipeline } from '../../pipeline/pipeline.ts';
import { availableParallelism } from 'node:os';
import { type LearnedTimes, restoreTimes } from '../../core/jobs/learned-times.ts';

import { phasePlace } from '../../pipeline/phase-place.ts';
import { phaseRetryPolicy } from '../../pipeline/phase-retry-policy.ts';
import type { Settings } from '../../platform/settings.ts';
import type { WorkerLimits } from '../admission/worker-limits.ts';
import { ResultColumns } from '../flush/result-columns.ts';
import { HandlerThreads } from './handler-threads.ts';
import { PhasePool, type PoolServices } from './phase-pool.ts';
import type { PhaseRuntime } from './run-item.ts';

const DEFAULT_SLOTS = 10;

export interface PoolsOptions {
  settings: Settings;
  limits: Pick<WorkerLimits, 'admissionTo'>;
  /** Item and claim times of earlier slices to start with, by phase name. */
  learned: LearnedTimes;
  /** Slots of every pool, in place of those of its phase. */
  slots?: number;
  onThrown?: PhaseRuntime['onThrown'];
  /** Every attempt has a trace. */
  tracesEvery?: boolean;
}

export function createPools(
  pipelines: readonly Pipeline[],
  options: PoolsOptions,
  services: PoolServices,
): PhasePool[] {
  const columns = new ResultColumns(options.settings.resultMaxColumns);
  return pipelines.flatMap((pipeline) =>
    pipeline.phases.map((phase, index) => createPool(pipeline, phase, index, columns, options, services)),
  );
}

function createPool(
  pipeline: Pipeline,
  phase: Phase<unknown, unknown, unknown>,
  phaseIndex: number,
  columns: ResultColumns,
  { settings, limits, learned, slots: givenSlots, onThrown, tracesEvery }: PoolsOptions,
  services: PoolServices,
): PhasePool {
  const runtime: PhaseRuntime = {
    pipeline,
    phase,
    ...phasePlace(pipeline, phaseIndex),
    retryPolicy: phaseRetryPolicy(settings, phase, pipeline.strategies),
    resultMaxBytes: settings.resultMaxBytes,
    columns,
    limits: {
      emitMaxPerItem: settings.emitMaxPerItem,
      logMaxLines: settings.logMaxLines,
      logMaxBytes: settings.logMaxBytes,
      ...(tracesEvery && { tracesEvery }),
    },
    ...(onThrown && { onThrown }),
  };
  const slots =
    givenSlots ??
    phase.concurrency ??
    (phase.thread ? Math.max(1, availableParallelism() - 1) : DEFAULT_SLOTS);
  const pool = new PhasePool(
    {
      runtime,
      phaseIndex,
      slots,
      timeoutMs: phase.timeoutMs ?? settings.itemTimeoutMs,
      admission: limits.admissionTo(pipeline, phase, slots),
      threads: phase.thread ? createThreads(runtime, slots, settings, services) : null,
    },
    services,
  );
  const times = learned[phase.name];
  if (times) restoreTimes({ itemMs: pool.itemMs, claimMs: pool.demand.claimMs }, times);
  return pool;
}

function createThreads(
  runtime: PhaseRuntime,
  slots: number,
  { resultMaxColumns: maxColumns, blobStore }: Settings,
  { log }: PoolServices,
): HandlerThreads {
  return new HandlerThreads({ runtime, slots, maxColumns, blobStore, log });
}

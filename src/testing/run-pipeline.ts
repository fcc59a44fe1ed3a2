// Runs a pipeline over rows inside a test: no database, no waiting. Schema, outcomes, classification, back-off, timeouts
// and crashes are decided by the code that the worker runs; time is virtual and jitter comes from a seed.
import { checkParams } from '../pipeline/check-params.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { toRow } from '../engine/items/add-items.ts';
import { derivedId } from '../platform/random.ts';
import { loadSettings, type Settings } from '../platform/settings.ts';
import { isPipeline } from '../pipeline/define-pipeline.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { CountedEntries } from './counted-entries.ts';
import { type Fault, FaultPlan } from './fault.ts';
import { type GivenFiles, givenFiles } from './given-files.ts';
import type { PipelineRun } from './pipeline-run.ts';
import { RunRecorder } from './run-recorder.ts';
import { VirtualClock } from './virtual-clock.ts';
import { VirtualRun } from './virtual-run.ts';
import { useVirtualTimers } from './virtual-timers.ts';

export interface RunPipelineOptions<Params = unknown> {
  /** What goes wrong, and where. Of several that match a call, the first counts. */
  faults?: readonly Fault[];
  /** The same seed gives the same waits. Default 1. */
  seed?: number;
  /** Over the defaults. The environment is not read: a test gives the same result everywhere. */
  settings?: Partial<
    Pick<
      Settings,
      | 'maxAttemptsError'
      | 'maxAttemptsNotFound'
      | 'itemTimeoutMs'
      | 'resultMaxBytes'
      | 'emitMaxDepth'
      | 'emitMaxItems'
      | 'emitMaxPerItem'
    >
  >;
  /** Parameters of the job, checked by the pipeline's `params` schema. */
  params?: Params;
  /** What `context.openFile` finds, by key. */
  files?: GivenFiles;
  /** For handlers that are given a clock to sleep on. */
  clock?: VirtualClock;
  /** `setTimeout` of handlers waits in virtual time. Not for handlers that use the real network. Default false. */
  virtualTimers?: boolean;
  /**
   * Real milliseconds that calls get which do not sleep in virtual time. When none of them gets on for so long they
   * count as hanging, and virtual time moves on, in the end to their timeout. Default 500.
   */
  patienceMs?: number;
}

export async function runPipeline<Row, Params, Result>(
  pipeline: Pipeline<Row, Params, Result>,
  rows: readonly NoInfer<Row>[] | Iterable<NoInfer<Row>>,
  options: RunPipelineOptions<NoInfer<Params>> = {},
): Promise<PipelineRun<Result>> {
  if (!isPipeline(pipeline)) {
    throw new RowmillError(
      'PIPELINE_INVALID',
      'expected the first argument of runPipeline to be a pipeline',
      {
        hint: 'Give what definePipeline returns.',
      },
    );
  }
  const { seed = 1, patienceMs = 500, clock = new VirtualClock() } = options;
  const given = [...rows] as Record<string, unknown>[];
  const inputs = given.map((row, seq) => toRow(row, seq).json);
  const recorder = new RunRecorder(given);
  const counted = new CountedEntries(pipeline.counters);
  const startedMs = clock.now();
  const run = new VirtualRun({
    pipeline,
    rows: given,
    inputs,
    jobId: derivedId('rowmill/testing', pipeline.name, String(seed)),
    params: (await checkParams(pipeline, options.params)) as Record<string, unknown>,
    seed,
    settings: loadSettings({ flags: options.settings ?? {}, environment: {} }),
    clock,
    faults: new FaultPlan(pipeline, options.faults ?? []),
    files: givenFiles(options.files ?? {}),
    recorder,
    counted,
    patienceMs,
  });
  const restoreTimers = options.virtualTimers ? useVirtualTimers() : () => {};
  try {
    await run.finish();
  } finally {
    restoreTimers();
  }
  return recorder.finish(clock.now() - startedMs, counted.list()) as PipelineRun<Result>;
}

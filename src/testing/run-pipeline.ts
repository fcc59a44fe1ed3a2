// Runs a pipeline over rows inside a test, without a database and without waiting. The code of the worker decides
// schema checks, outcomes, classification, back-off, timeouts and crashes; time is virtual and jitter comes from a
// seed.
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
import { VirtualRun, type VirtualRunOptions } from './virtual-run.ts';
import { useVirtualTimers } from './virtual-timers.ts';

export interface RunPipelineOptions<Params = unknown> {
  /** Faults to inject. If several match a call, the first one applies. */
  faults?: readonly Fault[];
  /** The same seed gives the same waits. Default 1. */
  seed?: number;
  /** Override the defaults. The environment is not read, so that a test gives the same result everywhere. */
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
  /** Files for `context.openFile`, by key. */
  files?: GivenFiles;
  /** For handlers that sleep on a clock that the test passes to them. */
  clock?: VirtualClock;
  /** `setTimeout` of handlers waits in virtual time. Not for handlers that use the real network. Default false. */
  virtualTimers?: boolean;
  /**
   * Real milliseconds to wait for calls that do not sleep in virtual time. If none of them makes progress for this
   * long, they count as hanging and virtual time advances, up to their timeout. Default 500.
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
        hint: 'Pass the return value of definePipeline.',
      },
    );
  }
  const params = (await checkParams(pipeline, options.params)) as Record<string, unknown>;
  const given = [...rows] as Record<string, unknown>[];
  return (await runRows(pipeline, given, params, options)) as PipelineRun<Result>;
}

/** Runs rows with checked parameters. `start`: the phase of all given rows, and the outputs of the phases before. */
export async function runRows(
  pipeline: Pipeline,
  given: Record<string, unknown>[],
  params: Record<string, unknown>,
  options: Omit<RunPipelineOptions, 'params'>,
  start: VirtualRunOptions['start'] = { phase: 0, outputs: {} },
): Promise<PipelineRun> {
  const { seed = 1, patienceMs = 500, clock = new VirtualClock() } = options;
  const inputs = given.map((row, seq) => toRow(row, seq).json);
  const recorder = new RunRecorder(given);
  const counted = new CountedEntries(pipeline.counters);
  const startedMs = clock.now();
  const run = new VirtualRun({
    pipeline,
    rows: given,
    inputs,
    jobId: derivedId('rowmill/testing', pipeline.name, String(seed)),
    params,
    start,
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
  return recorder.finish(clock.now() - startedMs, counted.list());
}

// Runs one item through one phase: prepare, call, classify, record. Each step takes and returns plain values. Any
// handler behaviour ends in one of a closed set of outcomes.
import { classifyError } from '../../core/errors/classify-error.ts';
import type { ThrownError } from '../../core/errors/thrown-error.ts';
import { canMerge, mergeOutputs } from '../../core/items/earlier-outputs.ts';
import { isError, isVerdict } from '../../core/items/outcome.ts';
import { toStorableJson } from '../../core/items/storable-json.ts';
import type { RetryPolicy } from '../../core/retries/retry-policy.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { type Checked, checkInput } from '../../pipeline/input-schema.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import type { PhasePlace } from '../../pipeline/phase-place.ts';
import type { Phase, Pipeline } from '../../pipeline/pipeline.ts';
import type { ResultColumns } from '../flush/result-columns.ts';
import { columnsOf, itemOutcome, withGains } from './item-outcome.ts';
import { classify, failureOf, recordFailure, recordRefusal } from './record-failure.ts';
import { recordVerdict } from './record-verdict.ts';
import type { ItemLimits, RunningItem } from './running-item.ts';

export interface PhaseRuntime extends PhasePlace {
  pipeline: Pipeline;
  phase: Phase;
  retryPolicy: RetryPolicy;
  resultMaxBytes: number;
  columns: ResultColumns;
  limits: ItemLimits;
  /** Jitter of a retry, in [0, 1). Default: random. Pipeline tests set it to be reproducible. */
  jitter?: (item: RunningItem) => number;
  /** Receives every error of a handler before it is classified. Only the trace of one row needs them. */
  onThrown?: (thrown: ThrownError) => void;
}

type Settle = (item: RunningItem, outcome: RecordedOutcome) => void;

/**
 * Calls `settle` once, before it returns if neither the schema nor the handler returns a promise. A callback instead of
 * a returned promise: at 100,000s of items a second, each promise and each turn of the microtask queue counts.
 */
export function runItem(runtime: PhaseRuntime, item: RunningItem, settle: Settle): void {
  if (item.charge?.refusal) return settle(item, recordRefusal(runtime, item, item.charge.refusal));
  let ready: Checked | Promise<Checked>;
  try {
    ready = prepare(runtime, item);
  } catch (error) {
    return settle(item, recordThrown(runtime, item, error));
  }
  if (!(ready instanceof Promise)) return call(runtime, item, ready, settle);
  void ready.then(
    (checked) => call(runtime, item, checked, settle),
    (error: unknown) => settle(item, recordThrown(runtime, item, error)),
  );
}

export function prepare(runtime: PhaseRuntime, item: RunningItem): Checked | Promise<Checked> {
  const input: unknown = item.parsed ?? JSON.parse(item.claimed.input);
  const { schema } = runtime;
  return schema === undefined ? { ok: true, input } : checkInput(schema, input);
}

function call(runtime: PhaseRuntime, item: RunningItem, ready: Checked, settle: Settle): void {
  if (!ready.ok) return settle(item, recordFailure(runtime, item, failureOf('invalid', ready.message)));
  item.called = true;
  let answer: unknown;
  let promise: Promise<unknown> | null;
  try {
    answer = runtime.phase.run!(ready.input, item);
    promise = isPromise(answer) ? Promise.resolve(answer) : null;
  } catch (error) {
    return settle(item, recordThrown(runtime, item, error));
  }
  if (promise === null) return settle(item, recordAnswer(runtime, item, answer));
  void promise.then(
    (value) => settle(item, recordAnswer(runtime, item, value)),
    (error: unknown) => settle(item, recordThrown(runtime, item, error)),
  );
}

function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as { then?: unknown } | null | undefined)?.then === 'function';
}

function recordThrown(runtime: PhaseRuntime, item: RunningItem, error: unknown): RecordedOutcome {
  return recordFailure(runtime, item, classify(runtime, error, [item]));
}

/** Never throws. */
function recordAnswer(runtime: PhaseRuntime, item: RunningItem, value: unknown): RecordedOutcome {
  try {
    faultPoint('handler.after_return');
    return recordValue(runtime, item, value);
  } catch (error) {
    return recordFailure(runtime, item, classifyError(error, wallClockMs()));
  }
}

export function recordValue(runtime: PhaseRuntime, item: RunningItem, value: unknown): RecordedOutcome {
  if (isVerdict(value)) return recordVerdict(runtime, item, value);
  // JSON would store an Error as `{}`, which would record a failure as DONE.
  if (isError(value)) return recordThrown(runtime, item, value);
  const stored = toStorableJson(value, runtime.resultMaxBytes, runtime.pipeline.unstorable);
  if (!stored.ok) return recordFailure(runtime, item, failureOf('permanent', stored.reason));
  if (runtime.pipeline.result === 'merge') return recordMerged(runtime, item, stored.json);
  return recordJson(runtime, item, stored.json, value);
}

function recordJson(runtime: PhaseRuntime, item: RunningItem, json: string, value: unknown): RecordedOutcome {
  if (!runtime.isLastPhase) return withGains(item, itemOutcome(item, 'advance', 'DONE', json, null, 0));
  const done = itemOutcome(item, 'terminal', 'DONE', json, null, 0);
  done.columns = columnsOf(runtime, item).unseen(value);
  return withGains(item, done);
}

/** Every output is stored as it is. The last one is merged with those before. */
function recordMerged(runtime: PhaseRuntime, item: RunningItem, json: string): RecordedOutcome {
  const { pipeline, phase, isLastPhase, resultMaxBytes } = runtime;
  const output: unknown = JSON.parse(json);
  if (!canMerge(output)) {
    const reason = `expected phase ${phase.name} to return an object, because pipeline ${pipeline.name} merges results`;
    return recordFailure(runtime, item, failureOf('permanent', reason));
  }
  if (!isLastPhase) return recordJson(runtime, item, json, output);
  const merged = mergeOutputs(item.claimed.outputs, output);
  const stored = toStorableJson(merged, resultMaxBytes, pipeline.unstorable);
  if (!stored.ok) return recordFailure(runtime, item, failureOf('permanent', stored.reason));
  return recordJson(runtime, item, stored.json, merged);
}

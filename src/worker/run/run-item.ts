// Runs one item through one phase: prepare, call, classify, record. Each step takes and returns plain values. Any
// handler behaviour ends in one of a closed set of outcomes.
import { classifyError } from '../../core/errors/classify-error.ts';
import type { ThrownError } from '../../core/errors/thrown-error.ts';
import { isError, isVerdict } from '../../core/items/outcome.ts';
import { toStorableJson } from '../../core/items/storable-json.ts';
import type { RetryPolicy } from '../../core/retries/retry-policy.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { type Checked, checkInput } from '../../pipeline/input-schema.ts';
import { wallClockMs } from '../../platform/clock.ts';
import { faultPoint } from '../../platform/fault-point.ts';
import type { Phase, Pipeline } from '../../pipeline/pipeline.ts';
import type { ResultColumns } from '../flush/result-columns.ts';
import { columnsOf, itemOutcome, withGains } from './item-outcome.ts';
import { classify, failureOf, recordFailure, recordRefusal } from './record-failure.ts';
import { recordVerdict } from './record-verdict.ts';
import type { RunningItem } from './running-item.ts';

export interface PhaseRuntime {
  pipeline: Pipeline;
  phase: Phase;
  isLastPhase: boolean;
  retryPolicy: RetryPolicy;
  resultMaxBytes: number;
  columns: ResultColumns;
  limits: { emitMaxPerItem: number };
  /** Jitter of a retry, in [0, 1). Default: random. Pipeline tests set it to be reproducible. */
  jitter?: (item: RunningItem) => number;
  /** Receives every error of a handler before it is classified. Only the trace of one row needs them. */
  onThrown?: (thrown: ThrownError) => void;
}

/** Creates no promise if neither the schema nor the handler does: promises cost at 100,000s of items a second. */
export function runItem(
  runtime: PhaseRuntime,
  item: RunningItem,
): RecordedOutcome | Promise<RecordedOutcome> {
  try {
    if (item.charge?.refusal) return recordRefusal(runtime, item, item.charge.refusal);
    const ready = prepare(runtime, item);
    return ready instanceof Promise ? callWhenReady(runtime, item, ready) : call(runtime, item, ready);
  } catch (error) {
    return recordFailure(runtime, item, classify(runtime, error));
  }
}

export function prepare(runtime: PhaseRuntime, item: RunningItem): Checked | Promise<Checked> {
  const input: unknown = item.parsed ?? JSON.parse(item.claimed.input);
  const schema = runtime.pipeline.input;
  return schema === undefined ? { ok: true, input } : checkInput(schema, input);
}

async function callWhenReady(
  runtime: PhaseRuntime,
  item: RunningItem,
  prepared: Promise<Checked>,
): Promise<RecordedOutcome> {
  try {
    return await call(runtime, item, await prepared);
  } catch (error) {
    return recordFailure(runtime, item, classify(runtime, error));
  }
}

function call(
  runtime: PhaseRuntime,
  item: RunningItem,
  ready: Checked,
): RecordedOutcome | Promise<RecordedOutcome> {
  if (!ready.ok) return recordFailure(runtime, item, failureOf('invalid', ready.message));
  item.called = true;
  const answer: unknown = runtime.phase.run!(ready.input, item);
  return isPromise(answer) ? recordWhenAnswered(runtime, item, answer) : recordAnswer(runtime, item, answer);
}

function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as { then?: unknown } | null | undefined)?.then === 'function';
}

async function recordWhenAnswered(
  runtime: PhaseRuntime,
  item: RunningItem,
  answer: PromiseLike<unknown>,
): Promise<RecordedOutcome> {
  let value: unknown;
  try {
    value = await answer;
  } catch (error) {
    return recordFailure(runtime, item, classify(runtime, error));
  }
  return recordAnswer(runtime, item, value);
}

/** Never throws. */
function recordAnswer(runtime: PhaseRuntime, item: RunningItem, value: unknown): RecordedOutcome {
  faultPoint('handler.after_return');
  try {
    return recordValue(runtime, item, value);
  } catch (error) {
    return recordFailure(runtime, item, classifyError(error, wallClockMs()));
  }
}

export function recordValue(runtime: PhaseRuntime, item: RunningItem, value: unknown): RecordedOutcome {
  if (isVerdict(value)) return recordVerdict(runtime, item, value);
  // JSON would store an Error as `{}`, which would record a failure as DONE.
  if (isError(value)) return recordFailure(runtime, item, classify(runtime, value));
  const stored = toStorableJson(value, runtime.resultMaxBytes, runtime.pipeline.unstorable);
  if (!stored.ok) return recordFailure(runtime, item, failureOf('permanent', stored.reason));
  if (!runtime.isLastPhase)
    return withGains(item, itemOutcome(item, 'advance', 'DONE', stored.json, null, 0));
  const done = itemOutcome(item, 'terminal', 'DONE', stored.json, null, 0);
  done.columns = columnsOf(runtime, item).unseen(value);
  return withGains(item, done);
}

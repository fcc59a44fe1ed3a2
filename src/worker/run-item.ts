// One item through one phase: prepare, call, classify, record. Each step takes and returns plain values; whatever
// the handler does, the result is one of a closed set of outcomes.
import { classifyError } from '../core/classify-error.ts';
import { type Failure, isVerdict, type Verdict } from '../core/outcome.ts';
import { type RetryPolicy, retryDelay } from '../core/retry-policy.ts';
import { toStorableJson, toStorableText } from '../core/storable-json.ts';
import type { RecordedOutcome } from '../engine/flush-outcomes.ts';
import { monotonicMs, wallClockMs } from '../platform/clock.ts';
import { faultPoint } from '../platform/fault-point.ts';
import { randomFraction } from '../platform/random.ts';
import type { Phase, Pipeline } from './define-pipeline.ts';
import type { RunningContext } from './item-context.ts';

export interface PhaseRuntime {
  pipeline: Pipeline;
  phase: Phase<unknown, unknown, unknown>;
  isLastPhase: boolean;
  retryPolicy: RetryPolicy;
  resultMaxBytes: number;
}

export interface ItemCall {
  seq: number;
  /** Calls so far, this one included. */
  attempt: number;
  input: string;
  context: RunningContext;
}

type Prepared = { ok: true; input: unknown } | { ok: false; failure: Failure };
type Called = { ok: true; value: unknown } | { ok: false; failure: Failure };

export async function runItem(runtime: PhaseRuntime, call: ItemCall): Promise<RecordedOutcome> {
  const startedMs = monotonicMs();
  let prepared = prepare(runtime, call);
  if (prepared instanceof Promise) prepared = await prepared;
  const called = prepared.ok ? await callHandler(runtime, call, prepared.input) : prepared;
  faultPoint('handler.after_return');
  const handlerMs = monotonicMs() - startedMs;
  return called.ok
    ? recordValue(runtime, call, called.value, handlerMs)
    : recordFailure(runtime, call, called.failure, handlerMs);
}

function prepare(runtime: PhaseRuntime, call: ItemCall): Prepared | Promise<Prepared> {
  const input: unknown = JSON.parse(call.input);
  const schema = runtime.pipeline.input;
  if (schema === undefined) return { ok: true, input };
  try {
    const validated = schema['~standard'].validate(input);
    return validated instanceof Promise ? validated.then(checkIssues, invalidInput) : checkIssues(validated);
  } catch (error) {
    return invalidInput(error);
  }
}

type Validated = Awaited<ReturnType<NonNullable<Pipeline['input']>['~standard']['validate']>>;

function checkIssues(validated: Validated): Prepared {
  if (validated.issues === undefined) return { ok: true, input: validated.value };
  const message = validated.issues
    .slice(0, 10)
    .map((issue) => {
      const path = (issue.path ?? [])
        .map((part) => String(typeof part === 'object' ? part.key : part))
        .join('.');
      return path === '' ? issue.message : `${path}: ${issue.message}`;
    })
    .join('; ');
  return {
    ok: false,
    failure: { class: 'invalid', message: toStorableText(message, 8000), retryAfterMs: null },
  };
}

function invalidInput(error: unknown): Prepared {
  return { ok: false, failure: { ...classifyError(error, wallClockMs()), class: 'invalid' } };
}

async function callHandler(runtime: PhaseRuntime, call: ItemCall, input: unknown): Promise<Called> {
  try {
    return { ok: true, value: await runtime.phase.run(input, call.context) };
  } catch (error) {
    return { ok: false, failure: classify(runtime, error) };
  }
}

function classify(runtime: PhaseRuntime, error: unknown): Failure {
  const failure = classifyError(error, wallClockMs());
  if (!runtime.phase.classify) return failure;
  try {
    return { ...failure, ...runtime.phase.classify(error) };
  } catch {
    // A classifier that throws is no reason to lose the error it was asked about.
    return failure;
  }
}

function recordValue(
  runtime: PhaseRuntime,
  call: ItemCall,
  value: unknown,
  handlerMs: number,
): RecordedOutcome {
  if (isVerdict(value)) return recordVerdict(runtime, call, value, handlerMs);
  const stored = toStorableJson(value, runtime.resultMaxBytes, runtime.pipeline.unstorable);
  if (!stored.ok) {
    return recordFailure(
      runtime,
      call,
      { class: 'permanent', message: stored.reason, retryAfterMs: null },
      handlerMs,
    );
  }
  const kind = runtime.isLastPhase ? 'terminal' : 'advance';
  return { seq: call.seq, kind, status: 'DONE', json: stored.json, failure: null, delayMs: 0, handlerMs };
}

function recordVerdict(
  runtime: PhaseRuntime,
  call: ItemCall,
  verdict: Verdict,
  handlerMs: number,
): RecordedOutcome {
  const message = toStorableText(verdict.reason, 8000);
  if (verdict.kind === 'skip') {
    const json = JSON.stringify({ reason: message });
    return { seq: call.seq, kind: 'terminal', status: 'SKIPPED', json, failure: null, delayMs: 0, handlerMs };
  }
  if (verdict.kind === 'not_found') {
    return recordFailure(runtime, call, { class: 'not_found', message, retryAfterMs: null }, handlerMs);
  }
  if (verdict.kind === 'retry_later') {
    return recordFailure(
      runtime,
      call,
      { class: 'throttled', message, retryAfterMs: verdict.afterMs },
      handlerMs,
    );
  }
  return recordFailure(runtime, call, { class: 'permanent', message, retryAfterMs: null }, handlerMs);
}

/** Also used for calls that ended from outside. */
export function recordFailure(
  runtime: PhaseRuntime,
  call: ItemCall,
  failure: Failure,
  handlerMs: number,
): RecordedOutcome {
  const delayMs = retryDelay(runtime.retryPolicy, failure, call.attempt, randomFraction());
  if (delayMs !== null) {
    return { seq: call.seq, kind: 'retry', status: 'ERROR', json: null, failure, delayMs, handlerMs };
  }
  const status = failure.class === 'not_found' ? 'NOT_FOUND' : 'ERROR';
  return { seq: call.seq, kind: 'terminal', status, json: null, failure, delayMs: 0, handlerMs };
}

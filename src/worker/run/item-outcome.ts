// The outcome of an item as it is recorded, before the fields that few outcomes have.
import type { ThrownError } from '../../core/errors/thrown-error.ts';
import type { Failure } from '../../core/items/outcome.ts';
import { replaceUnstorable } from '../../core/items/storable-json.ts';
import type { AttemptTrace, RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { monotonicMs, wallClockMs } from '../../platform/clock.ts';
import type { KnownColumns } from '../flush/result-columns.ts';
import type { PhaseRuntime } from './run-item.ts';
import type { RunningItem } from './running-item.ts';

/** Keeps the trace of a failed attempt at a few kilobytes. */
const MAX_STORED_FRAMES = 20;
const MAX_STORED_FRAME_LENGTH = 300;

/** Sets every field, so that all outcomes share one hidden class. */
export function itemOutcome(
  item: RunningItem,
  kind: RecordedOutcome['kind'],
  status: RecordedOutcome['status'],
  json: string | null,
  failure: Failure | null,
  delayMs: number,
): RecordedOutcome {
  const handlerMs = monotonicMs() - item.startedMs;
  return {
    seq: item.claimed.seq,
    kind,
    status,
    json,
    failure,
    delayMs,
    handlerMs,
    bytes: 0,
    columns: undefined,
    children: undefined,
    counted: undefined,
    cost: item.realCost,
    trace: traceOf(item, failure),
  };
}

/** Undefined for a first attempt that succeeded and logged nothing, even if it sent requests: it stores no trace. */
function traceOf(item: RunningItem, failure: Failure | null): AttemptTrace | undefined {
  const { logged, fetched, thrown } = item;
  if (logged === null && failure === null && item.lease.claim.attempt === 0 && !item.isAlwaysTraced)
    return undefined;
  return {
    endedAtMs: wallClockMs(),
    strategy: item.strategy ?? null,
    thrown: thrown === null || failure === null ? null : thrownJson(thrown),
    log: logged?.toJson() ?? null,
    lineCount: logged?.count ?? 0,
    droppedLines: logged?.dropped ?? 0,
    fetches: fetched?.toJson() ?? null,
    droppedFetches: fetched?.dropped ?? 0,
    waitedMs: 0,
    waitedFor: null,
  };
}

function thrownJson({ name, stack, causes }: ThrownError): string {
  const frames = stack.slice(0, MAX_STORED_FRAMES).map((frame) => frame.slice(0, MAX_STORED_FRAME_LENGTH));
  return replaceUnstorable(
    JSON.stringify({ name: name?.slice(0, MAX_STORED_FRAME_LENGTH) ?? null, stack: frames, causes }),
  );
}

/** Adds emitted rows and counts. Only successful calls keep them: a retried call produces them again. */
export function withGains(item: RunningItem, recorded: RecordedOutcome): RecordedOutcome {
  // Copied, because rows that a handler emits after it has returned do not count.
  if (item.emitted !== null) recorded.children = [...item.emitted];
  if (item.counted !== null) recorded.counted = item.counted.list();
  return recorded;
}

/** Looked up once per lease. */
export function columnsOf(runtime: PhaseRuntime, { lease, jobId, generation }: RunningItem): KnownColumns {
  lease.knownColumns ??= runtime.columns.of(jobId, generation);
  return lease.knownColumns;
}

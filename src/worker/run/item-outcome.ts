// The outcome of an item as it is recorded, before the fields that few outcomes have.
import type { Failure } from '../../core/items/outcome.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { KnownColumns } from '../flush/result-columns.ts';
import type { PhaseRuntime } from './run-item.ts';
import type { RunningItem } from './running-item.ts';

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
    cost: item.realCost,
  };
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

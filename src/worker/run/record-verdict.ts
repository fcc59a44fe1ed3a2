// Turns the verdict of a handler (skip, not found, retry later, fail) into a recorded outcome.
import { MAX_ERROR_LENGTH } from '../../core/errors/classify-error.ts';
import type { Verdict } from '../../core/items/outcome.ts';
import { toStorableText } from '../../core/items/storable-json.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { columnsOf, itemOutcome, withGains } from './item-outcome.ts';
import { failureOf, recordFailure } from './record-failure.ts';
import type { PhaseRuntime } from './run-item.ts';
import type { RunningItem } from './running-item.ts';

export function recordVerdict(runtime: PhaseRuntime, item: RunningItem, verdict: Verdict): RecordedOutcome {
  const message = toStorableText(String(verdict.reason), MAX_ERROR_LENGTH);
  switch (verdict.kind) {
    case 'skip':
      return withGains(item, {
        ...itemOutcome(item, 'terminal', 'SKIPPED', JSON.stringify({ reason: message }), null, 0),
        columns: columnsOf(runtime, item).unseen({ reason: message }),
      });
    case 'not_found':
      return recordFailure(runtime, item, failureOf('not_found', message));
    case 'retry_later':
      return recordFailure(runtime, item, {
        class: 'throttled',
        message,
        retryAfterMs: verdict.afterMs,
        asked: true,
      });
    default:
      return recordFailure(runtime, item, failureOf('permanent', message));
  }
}

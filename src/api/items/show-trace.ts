// The trace of a row as the API and the command line show it.
import type { z } from 'zod';
import type { itemTrace } from '../../contract/items.ts';
import { rowNumber } from '../../contract/row-number.ts';
import type { TracedAttempt } from '../../store/views/items/read-item-trace.ts';
import { asJson, timeOrNull } from '../requests/wire-values.ts';

/** `phases`: names of the phases of the job. */
export function showTrace(
  seq: number,
  attempts: readonly TracedAttempt[],
  phases: readonly string[],
): z.infer<typeof itemTrace> {
  return {
    seq,
    row: rowNumber(seq),
    attempts: attempts.map((attempt, at) => ({
      ...attempt,
      phaseName: phases[attempt.phase] ?? null,
      startedAt: timeOrNull(attempt.startedAt),
      endedAt: timeOrNull(attempt.endedAt),
      ...waitBefore(attempt, attempts[at - 1]),
      log: attempt.log.map((line) => ({ ...line, fields: asJson(line.fields) })),
    })),
  };
}

/** The wait of a retried call, from the end of the attempt before. */
function waitBefore(
  { startedAt, generation, phase }: TracedAttempt,
  before: TracedAttempt | undefined,
): { waitedMs: number | null; waitedFor: 'retry' | null } {
  const isRetry = before?.outcome === 'retry' && before.generation === generation && before.phase === phase;
  if (!isRetry || !startedAt || !before.startedAt) return { waitedMs: null, waitedFor: null };
  const endedMs = before.startedAt.getTime() + (before.durationMs ?? 0);
  return { waitedMs: Math.max(0, Math.round(startedAt.getTime() - endedMs)), waitedFor: 'retry' };
}

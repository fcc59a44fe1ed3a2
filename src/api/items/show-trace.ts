// The trace of a row as the API and the command line show it.
import type { z } from 'zod';
import type { itemTrace } from '../../contract/traces.ts';
import { rowNumber } from '../../contract/row-number.ts';
import type { TracedAttempt } from '../../store/views/items/read-item-trace.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { asJson, timeOrNull } from '../requests/wire-values.ts';

export function showTrace(
  seq: number,
  attempts: readonly TracedAttempt[],
  { phases, costUnit }: Pick<Job, 'phases' | 'costUnit'>,
): z.infer<typeof itemTrace> {
  return {
    seq,
    row: rowNumber(seq),
    costUnit,
    attempts: attempts.map(({ queuedMs, queuedFor, ...attempt }, at) => ({
      ...attempt,
      phaseName: phases[attempt.phase] ?? null,
      startedAt: timeOrNull(attempt.startedAt),
      endedAt: timeOrNull(attempt.endedAt),
      ...waitBefore(attempts[at]!, attempts[at - 1]),
      log: attempt.log.map((line) => ({ ...line, fields: asJson(line.fields) })),
    })),
  };
}

type Waited = Pick<z.infer<typeof itemTrace>['attempts'][number], 'waitedMs' | 'waitedFor'>;

/** The wait for a limit; or else of a retried call, from the end of the attempt before; or else for a slot. */
function waitBefore(
  { startedAt, generation, phase, queuedMs, queuedFor }: TracedAttempt,
  before: TracedAttempt | undefined,
): Waited {
  if (queuedFor !== null) return { waitedMs: queuedMs, waitedFor: queuedFor };
  const isRetry = before?.outcome === 'retry' && before.generation === generation && before.phase === phase;
  if (isRetry && startedAt && before.startedAt) {
    const endedMs = before.startedAt.getTime() + (before.durationMs ?? 0);
    return { waitedMs: Math.max(0, Math.round(startedAt.getTime() - endedMs)), waitedFor: 'retry' };
  }
  return queuedMs ? { waitedMs: queuedMs, waitedFor: 'slot' } : { waitedMs: null, waitedFor: null };
}

// Handler durations that slices of a job have measured; the next slice starts with them.
import { type LearnedTimes, readLearnedTimes } from '../../core/jobs/learned-times.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { readSliceState, storeSliceState } from '../../store/commands/jobs/slice-state.ts';
import type { EngineContext } from '../engine-context.ts';

export interface LearnedBefore {
  times: LearnedTimes;
  /** JSON text as stored; null before the first slice. */
  stored: string | null;
}

export async function loadLearnedTimes({ db }: EngineContext, jobId: string): Promise<LearnedBefore> {
  const stored = await readSliceState(db, jobId);
  return { stored, times: readLearnedTimes(stored === null ? null : JSON.parse(stored)) };
}

/** Losing them does no harm: the next slice starts with small claims. */
export async function storeLearnedTimes(
  { db, events }: EngineContext,
  jobId: string,
  before: LearnedBefore,
  times: LearnedTimes,
): Promise<void> {
  const after = JSON.stringify({ phases: times });
  await retryPassing(() => storeSliceState(db, jobId, { before: before.stored, after })).catch((error) =>
    events.emit('service.failed', { service: 'slice', error }),
  );
}

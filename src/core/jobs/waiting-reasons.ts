// Says in a sentence why the unfinished rows of a job wait, by part.
import type { ResourceStatus } from '../limits/resource-status.ts';
import { limitedBy } from './limited-by.ts';
import type { UnfinishedPart, UnfinishedRows } from './unfinished-rows.ts';

export interface WaitingCauses {
  resources: readonly ResourceStatus[];
  blockedBecause: string | null;
  pausedBecause: string | null;
  isPaused: boolean;
}

/** Only parts that have rows. */
export function waitingReasons(
  rows: UnfinishedRows,
  { resources, blockedBecause, pausedBecause, isPaused }: WaitingCauses,
): Partial<Record<UnfinishedPart, string>> {
  const reasons: Partial<Record<UnfinishedPart, string>> = {
    rateLimit: limitedBy(resources) ?? 'The service allows no more calls now',
    retry: 'A call failed and is repeated after a delay',
    budget: pausedBecause ?? 'The budget is spent or reserved for running calls',
    worker: blockedBecause ?? 'All workers are busy',
    onHold: isPaused ? 'The job is paused' : 'The test run needs an approval',
  };
  return Object.fromEntries(
    Object.entries(reasons).filter(([part]) => rows[part as UnfinishedPart] > 0),
  ) as Partial<Record<UnfinishedPart, string>>;
}

// The queries behind the search for work: over all jobs that a worker can run, or over the one job it is restricted to.
import { type Ability, canRun } from '../../core/claims/ability.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import {
  type ClaimableWork,
  findClaimable,
  findClaimableOfJob,
} from '../../store/views/spans/find-claimable.ts';

export type LookForWork = () => Promise<ClaimableWork[]>;

/** Finds only work whose pipeline and version this worker can run. */
export function lookAtAllJobs(claims: EngineContext, abilities: readonly Ability[]): LookForWork {
  const pipelines = [...new Set(abilities.map(({ pipeline }) => pipeline))];
  /** The next query continues after this owner if there are many owners. */
  let afterOwner = '';
  return async () => {
    // Runs on a claim connection, where plans use the key index even if they were created while the queue was empty.
    const { work, nextOwner } = await findClaimable(claims.db, pipelines, afterOwner);
    afterOwner = nextOwner;
    return work.filter((each) => abilities.some((ability) => canRun(ability, each)));
  };
}

/** `onIdle` runs when no lease is held and no work is ready. It receives the time until work is ready; null: never. */
export function lookAtJob(
  control: EngineContext,
  jobId: string,
  isBusy: () => boolean,
  onIdle: (readyInMs: number | null) => void,
): LookForWork {
  return async () => {
    const found = await findClaimableOfJob(control.db, jobId);
    const readyInMs = Math.min(...found.map((work) => work.readyInMs));
    if (readyInMs > 0 && !isBusy()) onIdle(Number.isFinite(readyInMs) ? readyInMs : null);
    return found;
  };
}

// The looks at the database behind the search for work: at all jobs that a worker can run, or at the one that it is
// restricted to.
import { type Ability, canRun } from '../../core/claims/ability.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import {
  type ClaimableWork,
  findClaimable,
  findClaimableOfJob,
} from '../../store/views/spans/find-claimable.ts';

export type LookForWork = () => Promise<ClaimableWork[]>;

/** Only what this worker can run as the job wants it. */
export function lookAtAllJobs(claims: EngineContext, abilities: readonly Ability[]): LookForWork {
  const pipelines = [...new Set(abilities.map(({ pipeline }) => pipeline))];
  /** Where the next look continues, when there are many owners. */
  let afterOwner = '';
  return async () => {
    // On a connection for claims: there a plan that was made for an empty queue is by key too.
    const { work, nextOwner } = await findClaimable(claims.db, pipelines, afterOwner);
    afterOwner = nextOwner;
    return work.filter((each) => abilities.some((ability) => canRun(ability, each)));
  };
}

/** `onIdle`: nothing is held here and nothing is ready; the first that waits is ready then, or null. */
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

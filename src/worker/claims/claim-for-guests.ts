// Claims a few items for owners with too few in a full pool. Owners take turns in the queue, so a small job does not
// wait until a large one is finished.
import type { WorkOwner } from '../../core/limits/owner-limits.ts';
import { abilityOf } from '../../pipeline/define-pipeline.ts';
import { waitMs } from '../../platform/clock.ts';
import type { PhasePool } from '../run/phase-pool.ts';
import type { ClaimLoops, ClaimLoopsOptions } from './claim-loops.ts';

/** Polling intervals for owners without queued items, and for owners below their share. */
const GUEST_LOOK_MS = 250;
const SHORT_LOOK_MS = 5;

/** Runs until the loops stop. */
export async function claimForGuests(
  pool: PhasePool,
  { finder, underWay }: ClaimLoopsOptions,
  loops: ClaimLoops,
): Promise<void> {
  const { demand, options } = pool;
  const ability = abilityOf(options.runtime.pipeline);
  const isEnough = ({ ownerId, weight }: WorkOwner): boolean => !demand.owners.isShortOf(ownerId, weight);
  while (!loops.isStopping) {
    const short = demand.nextShort();
    await waitMs(SHORT_LOOK_MS);
    await waitMs(GUEST_LOOK_MS - SHORT_LOOK_MS, short);
    // A hungry pool is served by the main loop.
    if (loops.isStopping || pool.queuedCount === 0 || demand.isHungry || pool.isCongested) continue;
    const work = await finder.nextOfOthers(ability, options.phaseIndex, isEnough);
    if (!work) continue;
    const outcome = await loops.claimFrom(pool, work, () => !pool.isCongested, true);
    if (outcome === 'nothing' && !underWay.has(work.jobId)) finder.miss(work);
  }
}

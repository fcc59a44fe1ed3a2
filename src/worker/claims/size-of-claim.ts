// The number of items to claim for a pool.
import { claimSize } from '../../core/claims/claim-size.ts';
import type { WorkOwner } from '../../core/limits/owner-limits.ts';
import type { Settings } from '../../platform/settings.ts';
import type { PhasePool } from '../run/phase-pool.ts';

/** `guest` is the owner of a claim into a full pool: it gets its share only. */
export function sizeOfClaim(
  { demand, itemsPerCall, itemMs, options, slotsNow }: PhasePool,
  settings: Settings,
  leftMs: number,
  guest: WorkOwner | null,
): number {
  const usualMs = itemMs.quantile(0.75);
  // Enough for one full call, even if items are slow.
  const claimMin = Math.min(settings.claimMax, Math.max(settings.claimMin, itemsPerCall));
  const targetSliceMs = Math.max(0, Math.min(settings.workerTargetSliceMs, leftMs));
  const bounds = { ...settings, claimMin, targetSliceMs };
  const size = claimSize(bounds, slotsNow * (usualMs === null ? itemsPerCall : 1), usualMs);
  if (guest === null) return size;
  const share = demand.owners.shareOf(guest.ownerId, guest.weight);
  return Math.min(size, Math.max(options.slots, Math.ceil(size * share)));
}

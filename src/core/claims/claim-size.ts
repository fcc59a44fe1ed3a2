// Chooses the size of a claim: enough items to keep the worker's slots busy for one time slice, estimated from a
// quantile of recent item times. No more than that, so that work spreads and a crash costs little.

export interface ClaimBounds {
  targetSliceMs: number;
  safetyFactor: number;
  claimMin: number;
  claimMax: number;
}

/** `itemMs` is null before the first measurement: the first claim is small. */
export function claimSize(bounds: ClaimBounds, slots: number, itemMs: number | null): number {
  if (itemMs === null) return clamp(slots * 2, bounds.claimMin, bounds.claimMax);
  const perSlice = (bounds.targetSliceMs / Math.max(itemMs, 0.001)) * slots * bounds.safetyFactor;
  return clamp(Math.floor(perSlice), bounds.claimMin, bounds.claimMax);
}

/** Long enough that leases of slow items are renewed in time, short enough that a dead worker is noticed. */
export function leaseLength(
  bounds: { lockFloorMs: number; lockCapMs: number },
  slowItemMs: number | null,
): number {
  return clamp(Math.ceil((slowItemMs ?? 0) * 2), bounds.lockFloorMs, bounds.lockCapMs);
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}

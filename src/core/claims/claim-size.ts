// How many items a worker asks for at once: enough to keep its slots busy for one time slice, judged by a
// quantile of recent item times, and no more, so that work spreads and a crash costs little.

export interface ClaimBounds {
  targetSliceMs: number;
  safetyFactor: number;
  claimMin: number;
  claimMax: number;
}

/** `itemMs` is null until something was measured: the first claim is small. */
export function claimSize(bounds: ClaimBounds, slots: number, itemMs: number | null): number {
  if (itemMs === null) return clamp(slots * 2, bounds.claimMin, bounds.claimMax);
  const perSlice = (bounds.targetSliceMs / Math.max(itemMs, 0.001)) * slots * bounds.safetyFactor;
  return clamp(Math.floor(perSlice), bounds.claimMin, bounds.claimMax);
}

/** Long enough for slow items to be renewed in time, short enough that a dead worker is noticed. */
export function leaseLength(
  bounds: { lockFloorMs: number; lockCapMs: number },
  slowItemMs: number | null,
): number {
  return clamp(Math.ceil((slowItemMs ?? 0) * 2), bounds.lockFloorMs, bounds.lockCapMs);
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}

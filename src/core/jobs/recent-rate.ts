// How fast a job goes: rows that ended within the last minute, over that minute, or over the time since the run began
// when that is shorter. The one rate of the API, of its events and of estimates.

export const RATE_WINDOW_MS = 60_000;
/** Less is noise. */
const LEAST_WINDOW_MS = 1000;

/** Length of the window in whole seconds, so that events do not differ by milliseconds. `runningMs` null: no run is going on. */
export function rateWindowMs(runningMs: number | null): number {
  const ageMs = Math.max(LEAST_WINDOW_MS, runningMs ?? RATE_WINDOW_MS);
  return Math.min(RATE_WINDOW_MS, Math.floor(ageMs / 1000) * 1000);
}

export interface RecentRate {
  perSecond: number;
  rateWindowMs: number;
}

/** `ended`: rows that ended within the last minute. */
export function recentRate(ended: number, runningMs: number | null): RecentRate {
  const windowMs = rateWindowMs(runningMs);
  return { perSecond: (ended * 1000) / windowMs, rateWindowMs: windowMs };
}

// The rate of a job: rows finished within the last minute, divided by that minute or by the time since the start of the
// run if that is shorter. API, events, command line and page show this number, with its window; nothing else computes
// a rate.

export const RATE_WINDOW_MS = 60_000;
/** A shorter window is noise. */
const LEAST_WINDOW_MS = 1000;

/** Window length in whole seconds, so that events do not differ by milliseconds. `runningMs` is null without a run. */
export function rateWindowMs(runningMs: number | null): number {
  const ageMs = Math.max(LEAST_WINDOW_MS, runningMs ?? RATE_WINDOW_MS);
  return Math.min(RATE_WINDOW_MS, Math.floor(ageMs / 1000) * 1000);
}

/** Names the window beside a rate. */
export function windowWords(windowMs: number): string {
  return `over the last ${Math.round(windowMs / 1000)} s`;
}

export interface RecentRate {
  perSecond: number;
  rateWindowMs: number;
}

/** `ended`: rows finished within the last minute. */
export function recentRate(ended: number, runningMs: number | null): RecentRate {
  const windowMs = rateWindowMs(runningMs);
  return { perSecond: (ended * 1000) / windowMs, rateWindowMs: windowMs };
}

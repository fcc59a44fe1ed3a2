// What is declared of something outside with limits: a provider, a host, a tenant's account. Null means: no such limit.

export interface ResourceLimits {
  /** Calls that may start per second, over all processes. */
  ratePerSecond: number | null;
  /** Calls under way at once, over all processes. */
  concurrency: number | null;
  /** Between the starts of two calls with the same key. */
  minDelayMs: number;
  /** Follow what the service answers: less on 429, 5xx and rising latency, more while all is well. */
  adaptive: boolean;
}

export const NO_LIMITS: ResourceLimits = {
  ratePerSecond: null,
  concurrency: null,
  minDelayMs: 0,
  adaptive: true,
};

/** What an operator sets while things run; it goes before what was declared. */
export interface ResourceOverride {
  ratePerSecond?: number | null;
  concurrency?: number | null;
  minDelayMs?: number;
  adaptive?: boolean;
  paused?: boolean;
}

/** Starts per second that rate and delay allow together; null: any number. */
export function startsPerSecond({ ratePerSecond, minDelayMs }: ResourceLimits): number | null {
  const byDelay = minDelayMs > 0 ? 1000 / minDelayMs : null;
  if (ratePerSecond === null) return byDelay;
  return byDelay === null ? ratePerSecond : Math.min(ratePerSecond, byDelay);
}

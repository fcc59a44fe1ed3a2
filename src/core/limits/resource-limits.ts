// What is declared of something outside with limits: a provider, a host, a tenant's account. Null means: no such limit.
import { didYouMean } from '../errors/did-you-mean.ts';

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

/** The resource whose keys are owners and whose permits are the items that they may have under way; no pipeline can declare it. */
export const OWNER_RESOURCE = '@owner';

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

/** Whatever is left out has no limit; `adaptive` is true unless it is switched off. */
export type DeclaredLimits = Partial<ResourceLimits>;

const MEANING: Record<string, string> = {
  ratePerSecond: 'a number above 0',
  concurrency: 'a whole number from 1',
  minDelayMs: 'a number of milliseconds from 0',
  adaptive: 'true or false',
};

/** What is wrong with it, in words; null: nothing. */
export function checkLimits(name: string, limits: unknown): string | null {
  if (!/^[\w.-]{1,100}$/.test(name))
    return `expected names of 1 to 100 letters, digits, dots, dashes or underscores, got ${JSON.stringify(name)}`;
  if (limits === null || typeof limits !== 'object' || Array.isArray(limits))
    return `expected ${name} to be an object such as { "ratePerSecond": 10 }, got ${JSON.stringify(limits)}`;
  for (const [key, value] of Object.entries(limits)) {
    const meaning = MEANING[key];
    if (meaning === undefined)
      return `expected ${name} to have ${Object.keys(MEANING).join(', ')}, got ${key}${didYouMean(key, Object.keys(MEANING))}`;
    if (!isLimit(key, value))
      return `expected ${key} of ${name} to be ${meaning}, got ${JSON.stringify(value) ?? String(value)}`;
  }
  return null;
}

function isLimit(key: string, value: unknown): boolean {
  if (key === 'adaptive') return typeof value === 'boolean';
  if (value === null) return key !== 'minDelayMs';
  if (typeof value !== 'number' || !Number.isFinite(value)) return false;
  if (key === 'minDelayMs') return value >= 0;
  return value > 0 && (key !== 'concurrency' || Number.isInteger(value));
}

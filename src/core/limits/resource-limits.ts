// The declared limits of an external resource, such as a provider or a host, and their validation. Null means no limit.
import { didYouMean } from '../errors/did-you-mean.ts';

export interface ResourceLimits {
  /** Calls that may start per second, across all processes. */
  ratePerSecond: number | null;
  /** Calls that may run concurrently, across all processes. */
  concurrency: number | null;
  /** Minimum time between the starts of two calls with the same key. */
  minDelayMs: number;
  /** Adapts to the service: fewer calls on 429, 5xx and rising latency, more while calls succeed. */
  adaptive: boolean;
}

export const NO_LIMITS: ResourceLimits = {
  ratePerSecond: null,
  concurrency: null,
  minDelayMs: 0,
  adaptive: true,
};

/** Built-in resource for owners' limits of items in flight; its keys are owner ids. Pipelines cannot declare it. */
export const OWNER_RESOURCE = '@owner';

/** Limits set by an operator at runtime. They take precedence over declared limits. */
export interface ResourceOverride {
  ratePerSecond?: number | null;
  concurrency?: number | null;
  minDelayMs?: number;
  adaptive?: boolean;
  paused?: boolean;
}

/** Starts per second that rate and delay allow together; null: unlimited. */
export function startsPerSecond({ ratePerSecond, minDelayMs }: ResourceLimits): number | null {
  const byDelay = minDelayMs > 0 ? 1000 / minDelayMs : null;
  if (ratePerSecond === null) return byDelay;
  return byDelay === null ? ratePerSecond : Math.min(ratePerSecond, byDelay);
}

/** Omitted fields mean no limit; `adaptive` is true by default. */
export type DeclaredLimits = Partial<ResourceLimits>;

const MEANING: Record<string, string> = {
  ratePerSecond: 'a number above 0',
  concurrency: 'a whole number from 1',
  minDelayMs: 'a number of milliseconds from 0',
  adaptive: 'true or false',
};

/** The error message; null if the limits are valid. */
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

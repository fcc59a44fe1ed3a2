// Names the service whose limit determines the speed of a job, in a plain sentence.
import type { ResourceStatus } from '../limits/resource-status.ts';

/** A service that was not called for this long belongs to another job. */
const RECENT_MS = 5000;

/** Null if no declared or learned limit of a service is used in full. */
export function limitedBy(resources: readonly ResourceStatus[]): string | null {
  const short = resources.filter(
    ({ wanted, inUse, idleMs }) => wanted > inUse && idleMs !== null && idleMs < RECENT_MS,
  );
  // The service with the most waiting calls.
  const [first] = short.toSorted((a, b) => b.wanted - b.inUse - (a.wanted - a.inUse));
  return first === undefined ? null : describe(first);
}

function describe(resource: ResourceStatus): string | null {
  const { name, key, stopped, inUse, concurrencyNow, rateNow, slowness } = resource;
  const what = key === '' ? name : `${name} ${key}`;
  if (stopped) return `Stopped by ${what}: ${stopped.reason}`;
  // A slow worker cannot use the starts it was granted.
  if (slowness) return `Slowed by a busy worker that calls ${what}`;
  if (concurrencyNow !== null && inUse >= Math.floor(concurrencyNow))
    return `Slowed to ${Math.floor(concurrencyNow)} ${Math.floor(concurrencyNow) === 1 ? 'call' : 'calls'} at once by ${what}`;
  if (rateNow === null) return null;
  return `Slowed to ${Number(rateNow.toPrecision(3))}/s by ${what}`;
}

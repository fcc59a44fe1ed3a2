// Names the service whose limit determines the speed of a job, in a few words for a progress display.
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
  if (stopped) return `${what} (${stopped.reason})`;
  // A slow worker cannot use the starts it was granted.
  if (slowness) return `a slow worker (${Math.round(slowness.syncMs + slowness.lateMs)} ms late)`;
  if (concurrencyNow !== null && inUse >= Math.floor(concurrencyNow))
    return `${what} (${Math.floor(concurrencyNow)} concurrent calls)`;
  if (rateNow === null) return null;
  return `${what} (${Number(rateNow.toPrecision(3))} calls/s)`;
}

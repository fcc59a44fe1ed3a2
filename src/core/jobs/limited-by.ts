// The service whose limit decides how fast a job is, in a few words for a progress display.
import type { ResourceStatus } from '../limits/resource-status.ts';

/** Nobody has called it for this long: it is of another job. */
const RECENT_MS = 5000;

/** Null: no declared or learned limit of a service is used in full. */
export function limitedBy(resources: readonly ResourceStatus[]): string | null {
  const short = resources.filter(
    ({ wanted, inUse, idleMs }) => wanted > inUse && idleMs !== null && idleMs < RECENT_MS,
  );
  // The one that most calls wait for.
  const [first] = short.toSorted((a, b) => b.wanted - b.inUse - (a.wanted - a.inUse));
  return first === undefined ? null : describe(first);
}

function describe(resource: ResourceStatus): string | null {
  const { name, key, stopped, inUse, concurrencyNow, rateNow, slowness } = resource;
  const what = key === '' ? name : `${name} ${key}`;
  if (stopped) return `${what} (${stopped.reason})`;
  // A worker that is late cannot use what it was given.
  if (slowness) return `a slow worker (${Math.round(slowness.syncMs + slowness.lateMs)} ms late)`;
  if (concurrencyNow !== null && inUse >= Math.floor(concurrencyNow))
    return `${what} (${Math.floor(concurrencyNow)} calls at once)`;
  if (rateNow === null) return null;
  return `${what} (${Number(rateNow.toPrecision(3))} calls/s)`;
}

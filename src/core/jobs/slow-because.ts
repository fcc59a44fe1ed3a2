// Explains why rows are waiting although slots are free: to their owner in one plain sentence, to operators with the
// technical reasons. Declared limits that are used in full are not a
// reason, because they are intended.
import type { ResourceStatus } from '../limits/resource-status.ts';
import { limitedBy } from './limited-by.ts';

/** The share of slots that a worker uses, from 0 to 1, and the reason. */
export interface WorkerPressure {
  worker: string;
  share: number;
  reason: string;
}

const MAX_REASONS = 4;

/** The most important reason, without numbers of machines; null if nothing slows the job down. */
export function slowSummary(
  resources: readonly ResourceStatus[],
  pressures: readonly WorkerPressure[],
  suspectRows = 0,
): string | null {
  if (suspectRows > 0) return 'Running slower: some rows crashed a worker and run one group at a time';
  const wanting = resources.filter(({ wanted, inUse }) => wanted > inUse);
  const troubled = wanting.filter(({ share, stopped }) => stopped !== null || share < 1);
  if (troubled.length > 0) return limitedBy(troubled) ?? `Slowed down by ${troubled[0]!.name}`;
  const isSlow =
    pressures.some(({ share }) => share < 1) || wanting.some(({ slowness }) => slowness !== null);
  return isSlow ? 'Running slower: the worker machine is busy' : null;
}

export function slowBecause(
  resources: readonly ResourceStatus[],
  pressures: readonly WorkerPressure[],
  suspectRows = 0,
): string | null {
  const reasons = [
    ...(suspectRows > 0 ? [describeSuspects(suspectRows)] : []),
    ...pressures.filter(({ share }) => share < 1).map(describePressure),
    // A worker that wants more permits has waiting rows and free slots.
    ...resources.filter(({ wanted, inUse }) => wanted > inUse).flatMap(describeResource),
  ];
  if (reasons.length === 0) return null;
  const told = reasons.slice(0, MAX_REASONS);
  const more = reasons.length - told.length;
  return `rows are waiting although slots are free: ${told.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function describeSuspects(rows: number): string {
  const subject = rows === 1 ? '1 row was' : `${rows} rows were`;
  return `${subject} on a worker that crashed, and a worker runs one group of such rows at a time`;
}

function describePressure({ worker, share, reason }: WorkerPressure): string {
  return `worker ${worker} uses ${Math.round(share * 100)} % of its slots, because ${reason}`;
}

function describeResource({ name, key, share, rateNow, stopped, slowness }: ResourceStatus): string[] {
  const what = key === '' ? name : `${name} ${key}`;
  if (stopped) {
    const forMs = stopped.forMs === null ? '' : `, for another ${Math.ceil(stopped.forMs / 1000)} s`;
    return [`${what} is not called (${stopped.reason}${forMs})`];
  }
  const reasons: string[] = [];
  if (share < 1 && rateNow !== null)
    reasons.push(
      `${what} is called ${Number(rateNow.toPrecision(2))} times per second, because it refused calls, failed or was slow`,
    );
  if (slowness !== null)
    reasons.push(
      `a worker that calls ${what} is itself slow (a sync takes ${Math.round(slowness.syncMs)} ms, timers are ${Math.round(slowness.lateMs)} ms late)`,
    );
  return reasons;
}

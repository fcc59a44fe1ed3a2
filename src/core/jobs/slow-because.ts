// Why rows wait although there are slots for them, in words for those who operate it. Limits that are used in full are no
// reason: they are what was declared.
import type { ResourceStatus } from '../limits/resource-status.ts';

/** What a worker takes on of what it could, from 0 up to 1. */
export interface WorkerPressure {
  worker: string;
  share: number;
  reason: string;
}

const MAX_REASONS = 4;

export function slowBecause(
  resources: readonly ResourceStatus[],
  pressures: readonly WorkerPressure[],
  suspectRows = 0,
): string | null {
  const reasons = [
    ...(suspectRows > 0 ? [describeSuspects(suspectRows)] : []),
    ...pressures.filter(({ share }) => share < 1).map(describePressure),
    // Whoever wants more has rows that wait, and slots for them.
    ...resources.filter(({ wanted, inUse }) => wanted > inUse).flatMap(describeResource),
  ];
  if (reasons.length === 0) return null;
  const told = reasons.slice(0, MAX_REASONS);
  const more = reasons.length - told.length;
  return `rows wait although there are slots for them: ${told.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function describeSuspects(rows: number): string {
  const subject = rows === 1 ? '1 row was' : `${rows} rows were`;
  return `${subject} on a worker whose process ended without an answer, and a worker runs one group of such rows at a time`;
}

function describePressure({ worker, share, reason }: WorkerPressure): string {
  return `worker ${worker} takes on ${Math.round(share * 100)} % of what it could, because ${reason}`;
}

function describeResource({ name, key, share, rateNow, stopped, slowness }: ResourceStatus): string[] {
  const what = key === '' ? name : `${name} ${key}`;
  if (stopped) {
    const forMs = stopped.forMs === null ? '' : `, ${Math.ceil(stopped.forMs / 1000)} s more`;
    return [`${what} is not called (${stopped.reason}${forMs})`];
  }
  const reasons: string[] = [];
  if (share < 1 && rateNow !== null)
    reasons.push(
      `${what} is called ${Number(rateNow.toPrecision(2))} times per second, because it refused, failed or was slow`,
    );
  if (slowness !== null)
    reasons.push(
      `a worker that calls ${what} is slow itself (a sync takes ${Math.round(slowness.syncMs)} ms, timers are ${Math.round(slowness.lateMs)} ms late)`,
    );
  return reasons;
}

// An operator changes an owner's share of the workers, or how long its jobs are kept. The weight applies from the next search for work, a limit on
// items from the next sync. The audit log records the change.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { isKeepDays, MAX_KEEP_DAYS } from '../../core/jobs/retention.ts';
import { MAX_OWNER_LIMIT, MAX_OWNER_WEIGHT } from '../../core/limits/owner-limits.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { type OwnerChange, type OwnerLimits, setOwnerRow } from '../../store/commands/limits/set-owner.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export async function setOwner(
  context: EngineContext,
  ownerId: string,
  change: OwnerChange,
  actor: string,
): Promise<OwnerLimits> {
  checkOwner(ownerId, change);
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const limits = await setOwnerRow(tx, ownerId, change);
      const subject = `owner ${ownerId}`;
      await recordAudit(tx, context, { actor, action: 'owner.set', subject, detail: { change, limits } });
      return limits;
    }),
  );
}

function checkOwner(ownerId: string, change: OwnerChange): void {
  const { weight, maxRunningJobs, maxInFlight, keepDays } = change;
  check(/^[^\0]{1,200}$/.test(ownerId), 'an owner of 1 to 200 characters', ownerId);
  const given = Object.values(change).filter((value) => value !== undefined);
  check(given.length > 0, 'something to change: weight, maxRunningJobs, maxInFlight or keepDays', change);
  if (weight !== undefined)
    check(
      isWhole(weight, MAX_OWNER_WEIGHT),
      `weight to be a whole number from 1 to ${MAX_OWNER_WEIGHT}`,
      weight,
    );
  if (keepDays != null)
    check(
      isKeepDays(keepDays),
      `keepDays to be a whole number from 0 to ${MAX_KEEP_DAYS}, or null`,
      keepDays,
    );
  for (const [key, value] of Object.entries({ maxRunningJobs, maxInFlight })) {
    if (value == null) continue;
    const meaning = `${key} to be a whole number from 1 to ${MAX_OWNER_LIMIT}, or null for no limit`;
    check(isWhole(value, MAX_OWNER_LIMIT), meaning, value);
  }
}

function isWhole(value: unknown, max: number): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max;
}

function check(isRight: boolean, expected: string, got: unknown): void {
  if (!isRight) throw new RowmillError('OWNER_INVALID', `expected ${expected}, got ${JSON.stringify(got)}`);
}

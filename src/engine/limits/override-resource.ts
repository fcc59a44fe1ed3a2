// An operator overrides the limits of a resource while jobs run. Workers see the change with their next sync; the
// audit log records it.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ResourceOverride } from '../../core/limits/resource-limits.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { type OverrideChange, overrideResourceRow } from '../../store/commands/limits/override-resource.ts';
import type { EngineContext } from '../engine-context.ts';
import { recordAudit } from '../record-audit.ts';

export interface ResourceChange {
  name: string;
  /** Default: all keys of the resource. */
  key?: string;
  /** Null removes an override: the declared limit applies again. */
  change: OverrideChange;
  actor: string;
}

export async function overrideResource(
  context: EngineContext,
  { name, key = '', change, actor }: ResourceChange,
): Promise<ResourceOverride> {
  checkChange(name, change);
  return retryPassing(() =>
    context.db.transaction(async (tx) => {
      const override = await overrideResourceRow(tx, { name, key }, change);
      const detail = { key, change, override };
      await recordAudit(tx, context, {
        actor,
        action: 'resource.override',
        subject: `resource ${name}`,
        detail,
      });
      return override;
    }),
  );
}

const CHANGES = ['ratePerSecond', 'concurrency', 'minDelayMs', 'adaptive', 'paused'];

function checkChange(name: string, change: OverrideChange): void {
  const { ratePerSecond, concurrency, minDelayMs, adaptive, paused } = change;
  check(name !== '', 'the name of a resource', name);
  check(Object.keys(change).length > 0, 'something to change', change);
  for (const key of Object.keys(change)) check(CHANGES.includes(key), `one of ${CHANGES.join(', ')}`, key);
  const isPositive = (value: unknown): boolean => typeof value === 'number' && value > 0 && value <= 1e9;
  if (ratePerSecond != null) check(isPositive(ratePerSecond), 'ratePerSecond to be above 0', ratePerSecond);
  if (concurrency != null)
    check(
      isPositive(concurrency) && Number.isInteger(concurrency),
      'concurrency to be a whole number from 1',
      concurrency,
    );
  if (minDelayMs != null)
    check(minDelayMs >= 0 && minDelayMs <= 86_400_000, 'minDelayMs to be from 0', minDelayMs);
  for (const [key, value] of Object.entries({ adaptive, paused }))
    if (value != null) check(typeof value === 'boolean', `${key} to be true or false`, value);
}

function check(isRight: boolean, expected: string, got: unknown): void {
  if (!isRight)
    throw new RowmillError('RESOURCE_INVALID', `expected ${expected}, got ${JSON.stringify(got)}`);
}

// A worker reports responses and demand for some keys and gets its permits: one short transaction for any number of
// calls since the last sync.
import {
  type ControlOptions,
  initialResourceState,
  type ResourceDecision,
  type ResourceGrant,
  type ResourceReport,
  syncResource,
} from '../../core/limits/resource-control.ts';
import type { ResourceLimits } from '../../core/limits/resource-limits.ts';
import { RETRY_AFTER_CAP_MS } from '../../core/retries/retry-policy.ts';
import type { Settings } from '../../platform/settings.ts';
import {
  insertResources,
  lockResources,
  type ResourceKey,
  storeResources,
} from '../../store/commands/limits/sync-resources.ts';
import type { EngineContext } from '../engine-context.ts';

export interface KeyReport extends ResourceKey {
  limits: ResourceLimits;
  /** Owners whose rows use the key; left out for a resource without keys, which everyone may see. */
  owners?: Iterable<string>;
  report: ResourceReport;
}

export interface KeyGrant extends ResourceKey {
  grant: ResourceGrant;
}

export interface SyncAnswer {
  grants: KeyGrant[];
  /** Local time at which the database clock was read; durations in the grants count from it. */
  saidAtMs: number;
}

export async function syncResources(context: EngineContext, reports: KeyReport[]): Promise<SyncAnswer> {
  const options = controlOptions(context.settings);
  const { decisions, ...answer } = await context.db.transaction(async (tx) => {
    let locked = await lockResources(tx, reports);
    if (locked.resources.length < reports.length) {
      await insertResources(tx, reports);
      locked = await lockResources(tx, reports);
    }
    const { nowMs, saidAtMs } = locked;
    const asked = new Map(reports.map((each) => [keyOf(each), each]));
    const synced = locked.resources.map(({ name, key, state, override }) => {
      const { limits: declared, report, owners = [] } = asked.get(keyOf({ name, key }))!;
      const { paused: isPaused = false, ...changed } = override;
      const limits = { ...declared, ...changed };
      const before = state ?? initialResourceState(limits, options, nowMs);
      return {
        name,
        key,
        limits: declared,
        owners: [...owners],
        ...endedCalls(report),
        ...syncResource(before, limits, report, nowMs, { ...options, isPaused }),
      };
    });
    await storeResources(tx, synced);
    return {
      saidAtMs,
      grants: synced.map(({ name, key, grant }) => ({ name, key, grant })),
      decisions: synced.flatMap(({ name, key, decisions: made }) =>
        made.map((decision): ResourceKey & ResourceDecision => ({ name, key, ...decision })),
      ),
    };
  });
  for (const decision of decisions) context.events.emit('resource.decided', decision);
  return answer;
}

function endedCalls({ ok, throttled, failed }: ResourceReport): { calls: number; throttled: number } {
  const whole = (count: number): number => (Number.isFinite(count) ? Math.max(0, Math.round(count)) : 0);
  return { calls: whole(ok) + whole(throttled) + whole(failed), throttled: whole(throttled) };
}

export function keyOf({ name, key }: ResourceKey): string {
  return `${name}\t${key}`;
}

export function controlOptions(settings: Settings): ControlOptions {
  return {
    leaseMs: settings.resourceLeaseMs,
    horizonMs: settings.resourceSyncMs * 2,
    runToOpen: settings.resourceRunToOpen,
    retryAfterMaxMs: RETRY_AFTER_CAP_MS,
    firstConcurrency: settings.resourceFirstConcurrency,
    maxConcurrency: settings.resourceMaxConcurrency,
    isPaused: false,
  };
}

// The status of one resource key as shown to people: its declared limits, overrides and current use.
import { concurrencyNow, type ResourceState, rateNow } from './resource-control.ts';
import type { ResourceLimits, ResourceOverride } from './resource-limits.ts';
import { noticeable, type Slowness, slowestOf } from './start-line.ts';

export interface StoredResource {
  name: string;
  key: string;
  /** Null if no worker has used it. */
  limits: ResourceLimits | null;
  state: ResourceState | null;
  override: ResourceOverride;
  idleMs: number | null;
  nowMs: number;
}

export interface ResourceStatus {
  name: string;
  key: string;
  /** Declared limits; null if no worker has used it. */
  limits: ResourceLimits | null;
  override: ResourceOverride;
  /** Running calls, permits that workers hold, and permits they could use. */
  inUse: number;
  held: number;
  wanted: number;
  workers: number;
  /** Share of the limits in use, and the resulting concurrency and rate; null: unlimited. */
  share: number;
  concurrencyNow: number | null;
  rateNow: number | null;
  state: 'closed' | 'open' | 'probing' | 'paused' | 'unused';
  /** Why no call may start, and for how long; null while calls may start. */
  stopped: { reason: string; forMs: number | null } | null;
  /** Slowness of the slowest worker, if it is slow enough to matter. */
  slowness: Slowness | null;
  idleMs: number | null;
}

type ConcurrencyOptions = Parameters<typeof concurrencyNow>[2];

export function resourceStatus(stored: StoredResource, options: ConcurrencyOptions): ResourceStatus {
  const { name, key, limits: declared, state, override, idleMs, nowMs } = stored;
  const { paused = false, ...changed } = override;
  const limits = declared && { ...declared, ...changed };
  const holders = Object.values(state?.holders ?? {}).filter(({ expiresAtMs }) => expiresAtMs > nowMs);
  const sum = (of: 'inUse' | 'held' | 'wanted'): number =>
    holders.reduce((total, holder) => total + (holder[of] ?? 0), 0);
  const slowness = noticeable(slowestOf(holders.map((holder) => holder.slowness)), options.horizonMs);
  const isUsed = state !== null && limits !== null;
  return {
    name,
    key,
    limits: declared,
    override,
    inUse: sum('inUse'),
    held: sum('held'),
    wanted: sum('wanted'),
    workers: holders.length,
    share: isUsed && limits.adaptive ? state.share.share : 1,
    concurrencyNow: isUsed ? concurrencyNow(state, limits, options) : (limits?.concurrency ?? null),
    rateNow: isUsed ? rateNow(state, limits) : (limits?.ratePerSecond ?? null),
    ...stateOf(state, paused, nowMs),
    slowness: slowness.syncMs + slowness.lateMs > 0 ? slowness : null,
    idleMs,
  };
}

function stateOf(
  state: ResourceState | null,
  isPaused: boolean,
  nowMs: number,
): Pick<ResourceStatus, 'state' | 'stopped'> {
  if (isPaused) return { state: 'paused', stopped: { reason: 'paused by an operator', forMs: null } };
  if (!state) return { state: 'unused', stopped: null };
  if (state.pausedUntilMs > nowMs) {
    const forMs = Math.round(state.pausedUntilMs - nowMs);
    return { state: 'paused', stopped: { reason: 'asked to wait by the service', forMs } };
  }
  const { circuit } = state;
  if (circuit.state !== 'open') return { state: circuit.state, stopped: null };
  const forMs = Math.max(0, Math.round(circuit.openUntilMs - nowMs));
  return { state: 'open', stopped: { reason: `failed ${circuit.run} times in a row`, forMs } };
}

// Where the pools of a worker get their permits. Keys that are wanted or held are synced with the database a few times a
// second, all in one transaction; a key that is wanted and has nothing is synced at once.

import { RowmillError } from '../../core/errors/rowmill-error.ts';
import {
  type DeclaredLimits,
  NO_LIMITS,
  OWNER_RESOURCE,
  type ResourceLimits,
} from '../../core/limits/resource-limits.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { type KeyReport, keyOf, syncResources } from '../../engine/limits/sync-resources.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { monotonicMs } from '../../platform/clock.ts';
import { KeyPermits } from './key-permits.ts';
import { SyncLoop } from './sync-loop.ts';

/** In one transaction; others come with the next one. */
const KEYS_PER_SYNC = 500;

export interface ResourceDeskOptions {
  context: EngineContext;
  workerId: string;
  /** As declared: name and limits. */
  resources: ReadonlyMap<string, ResourceLimits>;
  /** Permits came, or a moment to start: pools look again. */
  onPermits: () => void;
}

export class ResourceDesk {
  readonly #options: ResourceDeskOptions;
  readonly #keys = new Map<string, KeyPermits>();
  readonly #loop: SyncLoop;

  constructor(options: ResourceDeskOptions) {
    this.#options = options;
    const { context, onPermits } = options;
    this.#loop = new SyncLoop({
      intervalMs: context.settings.resourceSyncMs,
      sync: () => this.#sync(),
      onFailed: (error) => context.events.emit('resource.sync_failed', { error }),
      needsSync: (nowMs) => [...this.#keys.values()].some((permits) => permits.needsSync(nowMs)),
      isActive: () => [...this.#keys.values()].some((permits) => !permits.isIdle),
      onLook: onPermits,
    });
  }

  /** Changes whenever permits may have come. */
  version = 0;

  /** Of a declared resource, or with limits of its own; for a row of this owner. */
  permits(name: string, key: string, ownerId: string, own?: ResourceLimits): KeyPermits {
    const permits = this.#keys.get(keyOf({ name, key })) ?? this.#newPermits(name, key, own);
    if (key !== '') permits.owners.add(ownerId);
    return permits;
  }

  #newPermits(name: string, key: string, own?: ResourceLimits): KeyPermits {
    const limits = own ?? this.#options.resources.get(name);
    if (!limits) throw new RowmillError('PIPELINE_INVALID', `there is no resource ${name}`);
    const permits: KeyPermits = new KeyPermits(name, key, limits, {
      onChange: () => {
        this.version += 1;
      },
      onWant: () => this.#want(permits),
    });
    this.#keys.set(permits.id, permits);
    return permits;
  }

  live(): { name: string; key: string; inUse: number; stoppedBecause: string | null }[] {
    return [...this.#keys.values()].map(({ name, key, inUse, stoppedBecause }) => ({
      name,
      key,
      inUse,
      stoppedBecause,
    }));
  }

  /** Gives everything back. */
  stop(): Promise<void> {
    const clear = (): void => {
      for (const permits of this.#keys.values()) permits.demands.clear();
    };
    // Every round takes other keys than the one before; a failed one leaves the rest to their leases.
    return this.#loop.stop(clear, () => Math.ceil(this.#keys.size / KEYS_PER_SYNC));
  }

  #want(permits: KeyPermits): void {
    const nowMs = monotonicMs();
    if (!this.#keys.has(permits.id)) this.#keys.set(permits.id, permits);
    this.#loop.want(permits.needsSync(nowMs), permits.hasSlots ? permits.startInMs(nowMs) : null, nowMs);
  }

  async #sync(): Promise<void> {
    const { context, workerId } = this.#options;
    const askedAtMs = monotonicMs();
    const chosen = this.#chooseOpen();
    if (chosen.length === 0) return;
    const slowness = this.#loop.slowness(askedAtMs);
    const reports: KeyReport[] = chosen.map((permits) => {
      const { name, key, limits, owners } = permits;
      return { name, key, limits, owners, report: permits.report(workerId, askedAtMs, slowness) };
    });
    try {
      const { grants, saidAtMs } = await syncResources(context, reports);
      for (const { name, key, grant } of grants)
        this.#keys
          .get(keyOf({ name, key }))
          ?.apply(grant, askedAtMs, saidAtMs, context.settings.resourceLeaseMs);
      this.#report(reports);
    } catch (error) {
      for (const [at, permits] of chosen.entries()) permits.takeBack(reports[at]!.report);
      throw error;
    }
  }

  #report(reports: readonly KeyReport[]): void {
    for (const { name, key, report } of reports) {
      const { ok, throttled, failed } = report;
      // Shares of owners are not a service.
      if (name !== OWNER_RESOURCE && ok + throttled + failed > 0)
        this.#options.context.events.emit('resource.synced', { name, key, ok, throttled, failed });
    }
  }

  /** Forgets keys that nobody wants any more. What is left out goes first the next time. */
  #chooseOpen(): KeyPermits[] {
    for (const permits of [...this.#keys.values()]) if (permits.isIdle) this.#keys.delete(permits.id);
    const chosen = [...this.#keys.values()].slice(0, KEYS_PER_SYNC);
    for (const permits of chosen) {
      this.#keys.delete(permits.id);
      this.#keys.set(permits.id, permits);
    }
    return chosen;
  }
}

/** Limits of all resources that pipelines declare; a name means the same thing everywhere. */
export function declaredResources(
  pipelines: readonly Pipeline[],
  configured: Readonly<Record<string, DeclaredLimits>>,
): Map<string, ResourceLimits> {
  const resources = new Map<string, ResourceLimits>();
  for (const [name, declared] of pipelines.flatMap((pipeline) => Object.entries(pipeline.resources))) {
    const limits: ResourceLimits = { ...NO_LIMITS, ...declared, ...configured[name] };
    const known = resources.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(limits)) {
      throw new RowmillError(
        'PIPELINE_INVALID',
        `two pipelines declare resource ${name} with different limits`,
        {
          hint: 'A resource is shared by its name: declare it once and use it in both, or give it two names.',
        },
      );
    }
    resources.set(name, limits);
  }
  return resources;
}

// Provides resource permits for a worker's phases. Resources are shared by all processes, so keys that are wanted or
// held are synced with the database.

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
import { LimitSync } from './limit-sync.ts';

export interface ResourceLimiterOptions {
  context: EngineContext;
  workerId: string;
  /** Declared limits, by resource name. */
  resources: ReadonlyMap<string, ResourceLimits>;
  /** Runs when permits or start times may be available, so that pools check again. */
  onPermits: () => void;
}

export class ResourceLimiter {
  readonly #options: ResourceLimiterOptions;
  readonly #keys: LimitSync<KeyPermits>;

  constructor(options: ResourceLimiterOptions) {
    this.#options = options;
    const { context, onPermits } = options;
    this.#keys = new LimitSync({
      intervalMs: context.settings.resourceSyncMs,
      sync: (keys) => this.#sync(keys),
      onFailed: (error) => context.events.emit('resource.sync_failed', { error }),
      onLook: onPermits,
    });
  }

  /** Changes whenever permits may have become available. */
  get version(): number {
    return this.#keys.version;
  }

  /** Permits of a resource key, for an item of this owner. `own` are the limits if the resource is not declared. */
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
        this.#keys.version += 1;
      },
      onWant: () => this.#want(permits),
    });
    this.#keys.add(permits.id, permits);
    return permits;
  }

  live(): { name: string; key: string; inUse: number; stoppedBecause: string | null }[] {
    return [...this.#keys.entries()].map(({ name, key, inUse, stoppedBecause }) => ({
      name,
      key,
      inUse,
      stoppedBecause,
    }));
  }

  /** Returns all permits. */
  stop(): Promise<void> {
    return this.#keys.stop(() => {
      for (const permits of this.#keys.entries()) permits.demands.clear();
    });
  }

  #want(permits: KeyPermits): void {
    const nowMs = monotonicMs();
    if (!this.#keys.get(permits.id)) this.#keys.add(permits.id, permits);
    this.#keys.want(permits.needsSync(nowMs), permits.hasSlots ? permits.startInMs(nowMs) : null, nowMs);
  }

  async #sync(chosen: KeyPermits[]): Promise<void> {
    const { context, workerId } = this.#options;
    const askedAtMs = monotonicMs();
    const slowness = this.#keys.slowness(askedAtMs);
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
      // Owner limits are not a service.
      if (name !== OWNER_RESOURCE && ok + throttled + failed > 0)
        this.#options.context.events.emit('resource.synced', { name, key, ok, throttled, failed });
    }
  }
}

/** Limits of all resources that pipelines declare. Pipelines share a resource by its name. */
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
          hint: 'Resources are shared by name. Declare it once and use it in both pipelines, or use two names.',
        },
      );
    }
    resources.set(name, limits);
  }
  return resources;
}

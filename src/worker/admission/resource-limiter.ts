// Where the phases of a worker get permits of resources, which all processes share: keys that are wanted or held are
// synced with the database.

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
  /** As declared: name and limits. */
  resources: ReadonlyMap<string, ResourceLimits>;
  /** Permits came, or a moment to start: pools look again. */
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

  /** Changes whenever permits may have come. */
  get version(): number {
    return this.#keys.version;
  }

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

  /** Gives everything back. */
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
      // Shares of owners are not a service.
      if (name !== OWNER_RESOURCE && ok + throttled + failed > 0)
        this.#options.context.events.emit('resource.synced', { name, key, ok, throttled, failed });
    }
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

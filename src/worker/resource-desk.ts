// Where the pools of a worker get their permits. Keys that are wanted or held are synced with the database a few times a
// second, all in one transaction; a key that is wanted and has nothing is synced at once.
import { RowmillError } from '../core/rowmill-error.ts';
import { type DeclaredLimits, NO_LIMITS, type ResourceLimits } from '../core/resource-limits.ts';
import type { EngineContext } from '../engine/engine-context.ts';
import { keyOf, type KeyReport, syncResources } from '../engine/sync-resources.ts';
import { monotonicMs } from '../platform/clock.ts';
import type { Pipeline } from './define-pipeline.ts';
import { KeyPermits } from './key-permits.ts';

/** Between two syncs that were asked for: a burst of new keys is one sync. */
const SOON_MS = 10;
/** Longest wait for the next try while the database does not answer. */
const FAILED_MAX_MS = 2000;
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
  #timer: NodeJS.Timeout | null = null;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #syncing: Promise<void> | null = null;
  #syncedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #stopped = false;

  constructor(options: ResourceDeskOptions) {
    this.#options = options;
  }

  /** Changes whenever permits may have come. */
  version = 0;

  /** Of a declared resource, or with limits of its own. */
  permits(name: string, key: string, own?: ResourceLimits): KeyPermits {
    const id = keyOf({ name, key });
    const known = this.#keys.get(id);
    if (known) return known;
    const limits = own ?? this.#options.resources.get(name);
    if (!limits) throw new RowmillError('PIPELINE_INVALID', `there is no resource ${name}`);
    const permits = new KeyPermits(name, key, limits, () => {
      this.version += 1;
    });
    this.#keys.set(id, permits);
    return permits;
  }

  /** Something is wanted: sync soon, or come back when the next start is due. */
  want(permits: KeyPermits): void {
    const nowMs = monotonicMs();
    if (!this.#keys.has(permits.id)) this.#keys.set(permits.id, permits);
    // While a sync is under way its end looks again.
    if (this.#syncing === null && permits.needsSync(nowMs)) this.#wakeIn(this.#soonInMs(nowMs), nowMs);
    const inMs = permits.hasSlots ? permits.startInMs(nowMs) : null;
    // What might start already and did not is held back by something else.
    if (inMs !== null) this.#wakeIn(inMs > 0 ? inMs : SOON_MS, nowMs);
    if (this.#timer === null) this.#wakeIn(this.#options.context.settings.resourceSyncMs, nowMs);
  }

  /** Until a sync that was asked for may begin. */
  #soonInMs(nowMs: number): number {
    const { resourceSyncMs } = this.#options.context.settings;
    const apartMs =
      this.#failures === 0 ? SOON_MS : Math.min(FAILED_MAX_MS, resourceSyncMs * 2 ** (this.#failures - 1));
    return Math.max(0, apartMs - (nowMs - this.#syncedAtMs));
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
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    await this.#syncing;
    for (const permits of this.#keys.values()) permits.demands.clear();
    // Every round takes other keys than the one before; a failed one leaves the rest to their leases.
    try {
      for (let left = this.#keys.size; left > 0; left -= KEYS_PER_SYNC) await this.#sync();
    } catch (error) {
      this.#options.context.events.emit('resource.sync_failed', { error });
    }
  }

  #wakeIn(ms: number, nowMs: number): void {
    if (this.#stopped || nowMs + ms >= this.#timerAtMs) return;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timerAtMs = nowMs + ms;
    this.#timer = setTimeout(() => this.#wake(), Math.ceil(ms));
  }

  #wake(): void {
    this.#timer = null;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = monotonicMs();
    const { resourceSyncMs } = this.#options.context.settings;
    const isDue = nowMs - this.#syncedAtMs >= resourceSyncMs;
    if (this.#syncing === null && this.#soonInMs(nowMs) === 0 && (isDue || this.#isAsked(nowMs))) {
      this.#syncing = this.#sync()
        .then(() => {
          this.#failures = 0;
        })
        .catch((error: unknown) => {
          this.#failures += 1;
          this.#options.context.events.emit('resource.sync_failed', { error });
        })
        .finally(() => {
          this.#syncing = null;
          this.#lookAgain();
        });
    }
    this.#lookAgain();
  }

  #isAsked(nowMs: number): boolean {
    for (const permits of this.#keys.values()) if (permits.needsSync(nowMs)) return true;
    return false;
  }

  /** Pools start what may start, and say what they want next. */
  #lookAgain(): void {
    if (this.#stopped) return;
    this.#options.onPermits();
    const isActive = [...this.#keys.values()].some((permits) => !permits.isIdle);
    if (isActive) this.#wakeIn(this.#options.context.settings.resourceSyncMs, monotonicMs());
  }

  async #sync(): Promise<void> {
    const { context, workerId } = this.#options;
    const askedAtMs = monotonicMs();
    const chosen = this.#chooseOpen();
    if (chosen.length === 0) return;
    const reports: KeyReport[] = chosen.map((permits) => {
      const { name, key, limits } = permits;
      return { name, key, limits, report: permits.report(workerId, askedAtMs) };
    });
    this.#syncedAtMs = askedAtMs;
    try {
      const { grants, saidAtMs } = await syncResources(context, reports);
      for (const { name, key, grant } of grants)
        this.#keys
          .get(keyOf({ name, key }))
          ?.apply(grant, askedAtMs, saidAtMs, context.settings.resourceLeaseMs);
    } catch (error) {
      for (const [at, permits] of chosen.entries()) permits.takeBack(reports[at]!.report);
      throw error;
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

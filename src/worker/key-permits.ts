// What this worker may do with one key of a resource until it syncs the next time: calls it may have under way, and the
// moments at which calls may start. Nothing here waits; the desk syncs, pools ask before they start a call.
import type { CallCounts } from '../core/adaptive-share.ts';
import type { ResourceGrant, ResourceReport } from '../core/resource-control.ts';
import { type ResourceLimits, startsPerSecond } from '../core/resource-limits.ts';
import { monotonicMs } from '../platform/clock.ts';
import { keyOf } from '../engine/sync-resources.ts';
import type { Demand, Permit, PermitLine } from './permit.ts';

/** What one call told about the service. */
export interface Heard {
  kind: 'ok' | 'throttled' | 'failed';
  ms: number;
  retryAfterMs: number | null;
}

/**
 * A moment that has passed by this much is lost: calls that catch up would come too close to those of others. On a slow
 * line a tenth of the distance; on a fast one timers are never that exact.
 */
function maxLateMs(everyMs: number): number {
  return everyMs < 50 ? 30 : Math.max(5, everyMs / 10);
}

const NO_CALLS: CallCounts = { ok: 0, throttled: 0, failed: 0, okMs: 0 };

export class KeyPermits implements Permit, PermitLine {
  readonly name: string;
  readonly key: string;
  readonly id: string;
  limits: ResourceLimits;
  inUse = 0;
  /** By whoever asks: a resource may be used by several phases. */
  readonly demands = new Map<object, Demand>();
  #held = 0;
  #heldUntilMs = 0;
  /** Null: a call may start at any time. */
  #starts: { nextMs: number; everyMs: number; count: number }[] | null = [];
  #stoppedUntilMs = 0;
  #startedMs = 0;
  #heard: CallCounts = { ...NO_CALLS };
  /** Until when an answer asked to be left alone; null: none did. */
  #askedUntilMs: number | null = null;
  /** Why nothing may start, for people. */
  stoppedBecause: string | null = null;

  readonly #onChange: () => void;
  readonly #onWant: () => void;

  constructor(
    name: string,
    key: string,
    limits: ResourceLimits,
    { onChange, onWant }: { onChange: () => void; onWant: () => void },
  ) {
    this.name = name;
    this.key = key;
    this.id = keyOf({ name, key });
    this.limits = limits;
    this.#onChange = onChange;
    this.#onWant = onWant;
  }

  /** Its lines are long, and move. */
  readonly isShort = false;

  /** Items wait for the key itself. */
  get line(): PermitLine {
    return this;
  }

  want(): void {
    this.#onWant();
  }

  get isIdle(): boolean {
    const heard = this.#heard;
    return (
      this.inUse === 0 &&
      this.#held === 0 &&
      this.demands.size === 0 &&
      heard.ok + heard.throttled + heard.failed === 0
    );
  }

  /** Permits to be had at this moment. */
  canStart(nowMs: number): boolean {
    if (nowMs >= this.#heldUntilMs || this.inUse >= this.#held) return false;
    return this.#starts === null || (this.#firstStartMs(nowMs) ?? Number.POSITIVE_INFINITY) <= nowMs;
  }

  /** After `canStart` said yes. */
  start(nowMs: number): void {
    this.inUse += 1;
    if (this.#starts === null) return;
    const first = this.#starts[0]!;
    this.#startedMs = nowMs;
    first.count -= 1;
    first.nextMs += first.everyMs;
    if (first.count === 0) this.#starts.shift();
  }

  finish({ kind, ms, retryAfterMs }: Heard): void {
    this.release();
    this.#heard[kind] += 1;
    if (kind === 'ok') this.#heard.okMs += ms;
    // The permit of a call that was refused is not used again before the next sync: refusals come fast.
    if (kind === 'throttled') this.#held = Math.max(0, this.#held - 1);
    if (retryAfterMs === null) return;
    this.#askedUntilMs = Math.max(this.#askedUntilMs ?? 0, monotonicMs() + retryAfterMs);
    // The others hear of it with the next sync; here it holds from now on.
    this.#starts = this.#starts === null ? null : [];
    this.#held = 0;
  }

  /** A call that ended without saying anything about the service. */
  release(): void {
    this.inUse -= 1;
    this.#onChange();
  }

  /** In how many milliseconds the next call may start, as far as it is known; null: not before a sync. */
  startInMs(nowMs: number): number | null {
    if (nowMs >= this.#heldUntilMs || this.inUse >= this.#held) return null;
    if (this.#starts === null) return 0;
    const first = this.#firstStartMs(nowMs);
    return first === null ? null : Math.max(0, first - nowMs);
  }

  /** True when a sync may bring something that is wanted and not there. */
  needsSync(nowMs: number): boolean {
    if (nowMs < this.#stoppedUntilMs || this.demands.size === 0) return false;
    const { items, slots } = this.#demand();
    if (nowMs >= this.#heldUntilMs || this.inUse + Math.min(items, slots) > this.#held) return true;
    return this.#starts !== null && this.#startCount() < Math.min(items, slots);
  }

  /** Until the answer is there no more calls are under way than this says: the others are given what is left. */
  report(workerId: string, nowMs: number): ResourceReport {
    this.#held = Math.min(this.#held, this.inUse);
    const { items, slots } = this.#demand();
    this.#firstStartMs(nowMs);
    const report: ResourceReport = {
      ...this.#heard,
      workerId,
      inUse: this.inUse,
      wanted: this.inUse + Math.min(items, slots),
      startsWanted: Math.max(0, items - this.#startCount()),
      retryAfterMs: this.#askedUntilMs === null ? null : Math.max(0, this.#askedUntilMs - nowMs),
    };
    this.#heard = { ...NO_CALLS };
    this.#askedUntilMs = null;
    return report;
  }

  /** The sync did not happen: what was to be told is told with the next one. */
  takeBack(report: ResourceReport): void {
    this.#heard.ok += report.ok;
    this.#heard.throttled += report.throttled;
    this.#heard.failed += report.failed;
    this.#heard.okMs += report.okMs;
    if (report.retryAfterMs !== null)
      this.#askedUntilMs = Math.max(this.#askedUntilMs ?? 0, monotonicMs() + report.retryAfterMs);
  }

  apply(grant: ResourceGrant, askedAtMs: number, nowMs: number, leaseMs: number): void {
    this.#onChange();
    this.#held = grant.held;
    // From when it was asked for: the database counts from a later moment.
    this.#heldUntilMs = askedAtMs + leaseMs;
    this.stoppedBecause = grant.stopped?.reason ?? null;
    this.#stoppedUntilMs = grant.stopped ? nowMs + Math.min(grant.stopped.forMs, leaseMs / 2) : 0;
    if (grant.stopped) {
      this.#starts = [];
      this.#held = Math.min(this.#held, this.inUse);
      return;
    }
    if (grant.starts === null) {
      this.#starts = null;
      return;
    }
    this.#starts ??= [];
    const { firstInMs, everyMs, count } = grant.starts;
    // The database said `now` somewhere between the question and the answer.
    const saidMs = (askedAtMs + nowMs) / 2;
    if (count > 0) this.#starts.push({ nextMs: saidMs + firstInMs, everyMs, count });
  }

  /** How long an item may have to wait that has this many before it, as far as can be said. */
  waitMs(before: number, nowMs: number): number {
    const perSecond = startsPerSecond(this.limits);
    const lineMs = perSecond === null ? 0 : ((before + 1) / perSecond) * 1000;
    return Math.max(lineMs, this.#stoppedUntilMs - nowMs, 0);
  }

  #demand(): { items: number; slots: number } {
    let items = 0;
    let slots = 0;
    for (const demand of this.demands.values()) {
      items += demand.items;
      slots += demand.slots;
    }
    return { items, slots };
  }

  #startCount(): number {
    return (this.#starts ?? []).reduce((sum, { count }) => sum + count, 0);
  }

  /** The first moment that has not passed, and not closer to the last start than moments are to each other. */
  #firstStartMs(nowMs: number): number | null {
    const starts = this.#starts ?? [];
    for (let first = starts[0]; first; first = starts[0]) {
      const lateMs = nowMs - first.nextMs - maxLateMs(first.everyMs);
      const lost = lateMs <= 0 ? 0 : Math.min(first.count, Math.ceil(lateMs / first.everyMs));
      first.count -= lost;
      first.nextMs += lost * first.everyMs;
      if (first.count > 0) return Math.max(first.nextMs, this.#startedMs + first.everyMs * 0.9);
      starts.shift();
    }
    return null;
  }
}

// This worker's permits for one key of a resource until the next sync: how many calls may run, and the times at which
// calls may start. Nothing here waits: the limiter syncs, and queues check before they start a call.
import type { Failure } from '../../core/items/outcome.ts';
import type { CallCounts } from '../../core/limits/adaptive-share.ts';
import type { ResourceGrant, ResourceReport } from '../../core/limits/resource-control.ts';
import { OWNER_RESOURCE, type ResourceLimits, startsPerSecond } from '../../core/limits/resource-limits.ts';
import {
  aheadMs,
  FAST_MS,
  NOT_SLOW,
  noticeable,
  type Slowness,
  usualMaxLateMs,
} from '../../core/limits/start-line.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { keyOf } from '../../engine/limits/sync-resources.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Demand, Limit, Permit } from './permit.ts';

/** A series of start times at equal intervals. */
interface Stretch {
  nextMs: number;
  everyMs: number;
  count: number;
  /** The last start is lost when it is this late, because the next start on the line belongs to another worker. */
  maxLateMs: number;
  /** If true, the other starts are also lost only after `maxLateMs`, so missed ones can be caught up. */
  mayCatchUp: boolean;
}

/** The service's behaviour, as seen in the result of one call. */
export interface Heard {
  kind: 'ok' | 'throttled' | 'failed';
  ms: number;
  retryAfterMs: number | null;
}

export function heardFrom({ failure, handlerMs: ms }: RecordedOutcome): Heard {
  const kind = failure === null ? 'ok' : kindOf(failure);
  return { kind, ms, retryAfterMs: kind === 'ok' ? null : failure!.retryAfterMs };
}

/** A retry requested by the handler (`retryLater`) says nothing about the service. */
export function kindOf({ class: errorClass, asked }: Failure): Heard['kind'] {
  if (asked === true) return 'ok';
  if (errorClass === 'throttled') return 'throttled';
  return errorClass === 'overloaded' || errorClass === 'timeout' || errorClass === 'crashed'
    ? 'failed'
    : 'ok';
}

const NO_CALLS: CallCounts = { ok: 0, throttled: 0, failed: 0, okMs: 0 };

/** How far ahead starts are requested, and the shortest interval over which the pace of starts is measured. */
const AHEAD_MS = 500;
const PACE_MS = 100;
/** Weight of the latest interval in the average pace. */
const PACE_WEIGHT = 0.2;
/** Returned items become claimable after this time at the latest, because the situation may have changed. */
const MAX_BACK_MS = 15_000;
/** If the interval grows by this factor, starts granted earlier are too many and the distant ones are dropped. */
const LOWERED = 1.2;
/** Factor on the pace for returned items: returning early costs memory here, returning late leaves the service idle. */
const EARLY = 1.5;

export class KeyPermits implements Permit, Limit {
  readonly name: string;
  readonly key: string;
  readonly id: string;
  /** True if a `runMany` call needs one permit per item; otherwise it needs one per call. */
  readonly isPerItem: boolean;
  limits: ResourceLimits;
  /** Owners whose items use this key here. */
  readonly owners = new Set<string>();
  inUse = 0;
  /** By queue: several phases may use the same resource. */
  readonly demands = new Map<object, Demand>();
  #held = 0;
  #heldUntilMs = 0;
  #isTurn = false;
  /** Permits that the database counts as held here. Not idle until a sync has reported them as free. */
  #counted = 0;
  #kept = 0;
  /** Permits that the last report asked for. Other workers leave room for them until a report takes it back. */
  #toldWanted = 0;
  /** Null: a call may start at any time. */
  #starts: Stretch[] | null = [];
  #stoppedUntilMs = 0;
  #startedMs = Number.NEGATIVE_INFINITY;
  /** Permits and starts that the last report asked for. */
  #asked = { calls: 0, starts: 0 };
  /** Starts since `sinceMs`, and per millisecond before that. */
  #pace = { starts: 0, sinceMs: 0, perMs: 0 };
  /** Average starts per millisecond over the last seconds; 0: unknown. */
  #usualPerMs = 0;
  /** When all returned items will have had their turn. */
  #backUntilMs = 0;
  #heard: CallCounts = { ...NO_CALLS };
  /** End of the wait that the service asked for (Retry-After); null: none, or already reported. */
  #askedUntilMs: number | null = null;
  /** Why no call may start, as text for people. */
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
    this.isPerItem = name === OWNER_RESOURCE;
    this.limits = limits;
    this.#onChange = onChange;
    this.#onWant = onWant;
  }

  /** A rate limit keeps draining, so items that wait for it are never treated as stuck. */
  readonly isShort = false;

  /** Items wait for the key itself. */
  get limit(): Limit {
    return this;
  }

  get reason(): string {
    if (this.isPerItem) return `owner ${this.key} is at its limit of items in flight`;
    const resource = this.key === '' ? this.name : `${this.name} ${this.key}`;
    return this.stoppedBecause ?? `limit of resource ${resource}`;
  }

  want(): void {
    this.#onWant();
  }

  get isIdle(): boolean {
    const heard = this.#heard;
    return (
      this.inUse === 0 &&
      this.#counted === 0 &&
      this.#toldWanted === 0 &&
      this.demands.size === 0 &&
      heard.ok + heard.throttled + heard.failed === 0
    );
  }

  get isForgettable(): boolean {
    return this.isIdle;
  }

  /** True if a queue with a demand has a free slot. */
  get hasSlots(): boolean {
    return this.#demand().slots > 0;
  }

  /** True if a permit and a start time are available now. */
  canStart(nowMs: number): boolean {
    if (nowMs >= this.#heldUntilMs || this.inUse >= this.#held) return false;
    return this.#starts === null || (this.#firstStartMs(nowMs) ?? Number.POSITIVE_INFINITY) <= nowMs;
  }

  /** Call only after `canStart` returned true. */
  start(nowMs: number): void {
    this.inUse += 1;
    this.#pace.starts += 1;
    if (this.#starts === null) return;
    const first = this.#starts[0]!;
    this.#startedMs = nowMs;
    first.count -= 1;
    first.nextMs += first.everyMs;
    if (first.count === 0) this.#starts.shift();
  }

  finish({ kind, ms, retryAfterMs }: Heard, nowMs = monotonicMs()): void {
    this.release();
    this.#heard[kind] += 1;
    if (kind === 'ok') this.#heard.okMs += ms;
    // Drop the permit of a throttled call until the next sync: refusals come quickly and would be repeated.
    if (kind === 'throttled') this.#held = Math.max(0, this.#held - 1);
    if (retryAfterMs === null) return;
    this.#askedUntilMs = Math.max(this.#askedUntilMs ?? 0, nowMs + retryAfterMs);
    // Stop here immediately. Other workers learn of it with the next sync.
    this.#starts = this.#starts === null ? null : [];
    this.#held = 0;
  }

  /** For a call that says nothing about the service. */
  release(): void {
    this.inUse -= 1;
    this.#onChange();
  }

  /** Milliseconds until the next call may start; null: not before a sync. */
  startInMs(nowMs: number): number | null {
    if (nowMs >= this.#heldUntilMs || this.inUse >= this.#held) return null;
    if (this.#starts === null) return 0;
    const first = this.#firstStartMs(nowMs);
    return first === null ? null : Math.max(0, first - nowMs);
  }

  /**
   * True if there is a demand that was not reported yet, so that the sync should not wait for its interval. Requests
   * that were reported but not granted wait for regular syncs; otherwise a busy resource would be synced all the time.
   */
  needsSync(nowMs: number): boolean {
    // Other workers should stop calling before the next regular sync.
    if (this.#askedUntilMs !== null) return true;
    if (nowMs < this.#stoppedUntilMs || this.demands.size === 0) return false;
    const { items, slots } = this.#demand();
    const wanted = Math.min(items, slots);
    if (wanted === 0) return false;
    if (nowMs >= this.#heldUntilMs) return true;
    if (this.inUse >= this.#held) return this.#asked.calls === 0;
    return this.#starts !== null && this.#asked.starts === 0 && this.#firstStartMs(nowMs) === null;
  }

  /**
   * Creates the report of a sync. Until the answer arrives, no more than `keeps` calls run, because others are granted
   * the rest. If syncs are slow, held permits are kept until then, or few calls would start. Turns are not kept.
   */
  report(workerId: string, nowMs: number, slowness: Slowness = NOT_SLOW): ResourceReport {
    const { items, slots } = this.#demand();
    const isKept = nowMs < this.#heldUntilMs && !this.#isTurn && noticeable(slowness, AHEAD_MS).syncMs > 0;
    const keeps = isKept ? Math.max(this.inUse, Math.min(this.#held, this.inUse + items)) : this.inUse;
    this.#held = Math.min(this.#held, keeps);
    this.#firstStartMs(nowMs);
    const ranMs = nowMs - this.#pace.sinceMs;
    if (ranMs >= PACE_MS) this.#notePace(ranMs, nowMs);
    // Starts without a slot to use them would be taken from other workers for nothing.
    const forMs = aheadMs(AHEAD_MS, slowness);
    const usable = Math.min(items, Math.ceil((slots * forMs) / AHEAD_MS + this.#pace.perMs * forMs));
    const report: ResourceReport = {
      ...this.#heard,
      workerId,
      inUse: this.inUse,
      keeps,
      wanted: this.inUse + Math.min(items, slots),
      startsWanted: Math.max(0, usable - this.#startCount()),
      retryAfterMs: this.#askedUntilMs === null ? null : Math.max(0, this.#askedUntilMs - nowMs),
      slowness,
    };
    this.#asked = { calls: report.wanted - report.inUse, starts: report.startsWanted };
    this.#kept = keeps;
    this.#toldWanted = report.wanted;
    this.#heard = { ...NO_CALLS };
    this.#askedUntilMs = null;
    return report;
  }

  /** Call when the sync failed: its counts go into the next report. */
  takeBack(report: ResourceReport): void {
    this.#asked = { calls: 0, starts: 0 };
    this.#heard.ok += report.ok;
    this.#heard.throttled += report.throttled;
    this.#heard.failed += report.failed;
    this.#heard.okMs += report.okMs;
    if (report.retryAfterMs !== null)
      this.#askedUntilMs = Math.max(this.#askedUntilMs ?? 0, monotonicMs() + report.retryAfterMs);
  }

  /** `saidAtMs`: the local time from which the database counts `firstInMs` and `forMs`. */
  apply(grant: ResourceGrant, askedAtMs: number, saidAtMs: number, leaseMs: number): void {
    this.#onChange();
    this.#held = grant.held;
    this.#isTurn = grant.isTurn ?? false;
    this.#counted = Math.max(grant.held, this.#kept);
    // Counted from the request: the database counts from a later time, so the lease never ends there first.
    this.#heldUntilMs = askedAtMs + leaseMs;
    this.stoppedBecause = grant.stopped?.reason ?? null;
    this.#stoppedUntilMs = grant.stopped ? saidAtMs + Math.min(grant.stopped.forMs, leaseMs / 2) : 0;
    if (grant.stopped) {
      this.#starts = [];
      this.#held = 0;
      return;
    }
    if (grant.starts === null) {
      this.#starts = null;
      return;
    }
    this.#starts ??= [];
    const { firstInMs, everyMs, count } = grant.starts;
    const { maxLateMs = usualMaxLateMs(everyMs), mayCatchUp = false } = grant.starts;
    const before = this.#starts.at(-1);
    if (before && everyMs > before.everyMs * LOWERED) this.#dropAfter(saidAtMs + AHEAD_MS);
    if (count === 0) return;
    const nextMs = saidAtMs + firstInMs;
    const last = this.#starts.at(-1);
    // If no other worker got a start in the middle, extend the last stretch. The tolerance covers two clock readings.
    const isBehindLast = last && Math.abs(last.nextMs + last.count * last.everyMs - nextMs) < everyMs / 10;
    if (isBehindLast && last.everyMs === everyMs) {
      last.count += count;
      Object.assign(last, { maxLateMs, mayCatchUp });
    } else this.#starts.push({ nextMs, everyMs, count, maxLateMs, mayCatchUp });
  }

  /** Drops starts after `ms`, so that a lower rate takes effect soon. */
  #dropAfter(ms: number): void {
    for (const stretch of this.#starts ?? [])
      stretch.count = Math.min(
        stretch.count,
        Math.max(0, Math.ceil((ms - stretch.nextMs) / stretch.everyMs)),
      );
    this.#starts = (this.#starts ?? []).filter(({ count }) => count > 0);
  }

  putBack(count: number, before: number, nowMs: number): number {
    const declared = startsPerSecond(this.limits);
    const perMs = Math.min(
      declared === null ? Number.POSITIVE_INFINITY : declared / 1000,
      this.#usualPerMs > 0 ? this.#usualPerMs * EARLY : Number.POSITIVE_INFINITY,
    );
    const inTurnMs = Math.max(nowMs + before / perMs, this.#backUntilMs);
    const turnMs = Math.max(Math.min(inTurnMs, nowMs + MAX_BACK_MS), this.#stoppedUntilMs);
    this.#backUntilMs = turnMs + count / perMs;
    return turnMs - nowMs;
  }

  #notePace(ranMs: number, nowMs: number): void {
    const perMs = this.#pace.starts / ranMs;
    this.#pace = { starts: 0, sinceMs: nowMs, perMs };
    // An interval in which no call may start says nothing about the usual pace.
    if (nowMs < this.#stoppedUntilMs) return;
    const usual = this.#usualPerMs;
    this.#usualPerMs = usual === 0 ? perMs : usual + PACE_WEIGHT * (perMs - usual);
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

  /** The next usable start time. At slow rates or with `minDelayMs`, at least 90 % of an interval after the last. */
  #firstStartMs(nowMs: number): number | null {
    const starts = this.#starts ?? [];
    for (let first = starts[0]; first; first = starts[0]) {
      const { everyMs, maxLateMs: maxMs } = first;
      const lateMs = nowMs - first.nextMs;
      // Within a stretch, a late start delays the following ones, which also belong to this worker.
      const isLoose = everyMs < FAST_MS || first.mayCatchUp;
      const passed = isLoose ? Math.ceil((lateMs - maxMs) / everyMs) : Math.floor(lateMs / everyMs);
      const lost = Math.min(Math.max(0, passed), first.count - 1);
      first.count -= lost;
      first.nextMs += lost * everyMs;
      if (first.count === 1 && nowMs - first.nextMs > maxMs) first.count = 0;
      const isApart = first.everyMs >= FAST_MS || this.limits.minDelayMs > 0;
      const apartMs = isApart ? first.everyMs * 0.9 : 0;
      if (first.count > 0) return Math.max(first.nextMs, this.#startedMs + apartMs);
      starts.shift();
    }
    return null;
  }
}

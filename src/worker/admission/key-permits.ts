// What this worker may do with one key of a resource until it syncs the next time: calls it may have under way, and the
// moments at which calls may start. Nothing here waits: the limiter syncs, and queues ask before they start a call.
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

/** Moments of the same distance, one after the other. */
interface Stretch {
  nextMs: number;
  everyMs: number;
  count: number;
  /** The last one is lost when it has passed by this much: what follows on the line belongs to somebody else. */
  maxLateMs: number;
  /** So are the others, and not before. */
  mayCatchUp: boolean;
}

/** The answer of one call, as far as it says something about the service. */
export interface Heard {
  kind: 'ok' | 'throttled' | 'failed';
  ms: number;
  retryAfterMs: number | null;
}

export function heardFrom({ failure, handlerMs: ms }: RecordedOutcome): Heard {
  const kind = failure === null ? 'ok' : kindOf(failure);
  return { kind, ms, retryAfterMs: kind === 'ok' ? null : failure!.retryAfterMs };
}

/** A wait that the handler asked for says nothing about the service. */
export function kindOf({ class: errorClass, asked }: Failure): Heard['kind'] {
  if (asked === true) return 'ok';
  if (errorClass === 'throttled') return 'throttled';
  return errorClass === 'overloaded' || errorClass === 'timeout' || errorClass === 'crashed'
    ? 'failed'
    : 'ok';
}

const NO_CALLS: CallCounts = { ok: 0, throttled: 0, failed: 0, okMs: 0 };

/** How far ahead starts are asked for, and the shortest stretch that says how fast they are used. */
const AHEAD_MS = 500;
const PACE_MS = 100;
/** How much the latest stretch says about how fast starts are used. */
const PACE_WEIGHT = 0.2;
/** Items that go back come again after this time at the latest: much may have changed. */
const MAX_BACK_MS = 15_000;
/** From this many times the distance on, places that were given out before are too many. */
const LOWERED = 1.2;
/** Those that come too early wait here, those that come too late leave a service unused. */
const EARLY = 1.5;

export class KeyPermits implements Permit, Limit {
  readonly name: string;
  readonly key: string;
  readonly id: string;
  /** A call of several items needs one for each of them; otherwise one call is one permit. */
  readonly isPerItem: boolean;
  limits: ResourceLimits;
  /** Owners whose rows asked for it here. */
  readonly owners = new Set<string>();
  inUse = 0;
  /** By whoever asks: a resource may be used by several phases. */
  readonly demands = new Map<object, Demand>();
  #held = 0;
  #heldUntilMs = 0;
  #isTurn = false;
  /** What the database counts as held here: it stays wanted back until a sync has said that it is free. */
  #counted = 0;
  #kept = 0;
  /** What the database believes is wanted here: others leave room for it. */
  #toldWanted = 0;
  /** Null: a call may start at any time. */
  #starts: Stretch[] | null = [];
  #stoppedUntilMs = 0;
  #startedMs = Number.NEGATIVE_INFINITY;
  /** What the database was told last. */
  #asked = { calls: 0, starts: 0 };
  /** Starts since `sinceMs`, and per millisecond before that. */
  #pace = { starts: 0, sinceMs: 0, perMs: 0 };
  /** The same over the last seconds; 0: not known. */
  #usualPerMs = 0;
  /** When all that went back will have had its turn. */
  #backUntilMs = 0;
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
    this.isPerItem = name === OWNER_RESOURCE;
    this.limits = limits;
    this.#onChange = onChange;
    this.#onWant = onWant;
  }

  /** Its lines are long, and move. */
  readonly isShort = false;

  /** Items wait for the key itself. */
  get limit(): Limit {
    return this;
  }

  get reason(): string {
    if (this.isPerItem) return `owner ${this.key} has enough items under way`;
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

  /** Whoever wants something could start it. */
  get hasSlots(): boolean {
    return this.#demand().slots > 0;
  }

  /** Permits to be had at this moment. */
  canStart(nowMs: number): boolean {
    if (nowMs >= this.#heldUntilMs || this.inUse >= this.#held) return false;
    return this.#starts === null || (this.#firstStartMs(nowMs) ?? Number.POSITIVE_INFINITY) <= nowMs;
  }

  /** After `canStart` said yes. */
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
    // The permit of a call that was refused is not used again before the next sync: refusals come fast.
    if (kind === 'throttled') this.#held = Math.max(0, this.#held - 1);
    if (retryAfterMs === null) return;
    this.#askedUntilMs = Math.max(this.#askedUntilMs ?? 0, nowMs + retryAfterMs);
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

  /**
   * True when something is wanted that the database does not know of: then a sync should not wait for its time. What was
   * asked for and not given comes with the usual syncs, or a busy resource would be synced all the time.
   */
  needsSync(nowMs: number): boolean {
    // The others should not go on calling until the next usual sync.
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
   * Until the answer is there no more calls are under way than this says: the others are given what is left. If it takes
   * long, what is held is kept until then, or little would start meanwhile; but turns end with it.
   */
  report(workerId: string, nowMs: number, slowness: Slowness = NOT_SLOW): ResourceReport {
    const { items, slots } = this.#demand();
    const isKept = nowMs < this.#heldUntilMs && !this.#isTurn && noticeable(slowness, AHEAD_MS).syncMs > 0;
    const keeps = isKept ? Math.max(this.inUse, Math.min(this.#held, this.inUse + items)) : this.inUse;
    this.#held = Math.min(this.#held, keeps);
    this.#firstStartMs(nowMs);
    const ranMs = nowMs - this.#pace.sinceMs;
    if (ranMs >= PACE_MS) this.#notePace(ranMs, nowMs);
    // Moments that there is no slot for would be taken from others for nothing.
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

  /** The sync did not happen: what was to be told is told with the next one. */
  takeBack(report: ResourceReport): void {
    this.#asked = { calls: 0, starts: 0 };
    this.#heard.ok += report.ok;
    this.#heard.throttled += report.throttled;
    this.#heard.failed += report.failed;
    this.#heard.okMs += report.okMs;
    if (report.retryAfterMs !== null)
      this.#askedUntilMs = Math.max(this.#askedUntilMs ?? 0, monotonicMs() + report.retryAfterMs);
  }

  /** `saidAtMs`: when the database counted from. */
  apply(grant: ResourceGrant, askedAtMs: number, saidAtMs: number, leaseMs: number): void {
    this.#onChange();
    this.#held = grant.held;
    this.#isTurn = grant.isTurn ?? false;
    this.#counted = Math.max(grant.held, this.#kept);
    // From when it was asked for: the database counts from a later moment.
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
    // Nobody came in between: it is one stretch, as far as two readings of the clock agree.
    const isBehindLast = last && Math.abs(last.nextMs + last.count * last.everyMs - nextMs) < everyMs / 10;
    if (isBehindLast && last.everyMs === everyMs) {
      last.count += count;
      Object.assign(last, { maxLateMs, mayCatchUp });
    } else this.#starts.push({ nextMs, everyMs, count, maxLateMs, mayCatchUp });
  }

  /** A lower rate holds soon, however far ahead moments were given out. */
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
    // A stretch in which nothing may start says nothing about the others.
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

  /** The first moment that has not passed, and not closer to the last start than moments are to each other. */
  #firstStartMs(nowMs: number): number | null {
    const starts = this.#starts ?? [];
    for (let first = starts[0]; first; first = starts[0]) {
      const { everyMs, maxLateMs: maxMs } = first;
      const lateMs = nowMs - first.nextMs;
      // Of a stretch, one that is late moves the next ones, which are ours as well.
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

// Admission to one phase: combines its item queue, the needs of its items and the share of slots that may be used.
import type { ErrorSpike } from '../../core/limits/error-spike.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Lease } from '../leases/lease.ts';
import type { Call } from '../run/call.ts';
import type { RunningItem } from '../run/running-item.ts';
import type { Admission, AdmittedItem, GivenBack, QueuedByOwner, Wait } from './admission.ts';
import type { ItemCharge } from './item-charge.ts';
import { ItemQueue } from './item-queue.ts';
import { type Heard, kindOf } from './key-permits.ts';
import type { Limit } from './permit.ts';
import type { ItemNeeds } from './phase-needs.ts';

/** Maximum number of held-back items; the rest waits in the database. */
const MAX_HELD_BACK = 1000;
/** Returned items stay away at least this long, because giving them back costs a statement. */
const MIN_GIVE_BACK_MS = 1000;

export interface PhaseAdmissionOptions {
  needs: ItemNeeds;
  slots: number;
  itemsPerCall: number;
  /** The worker's pressure: the share of slots that may be used. */
  pressure: { readonly factor: number };
  /** Null if the phase uses a resource: its adaptive share and circuit breaker handle failures better. */
  spike: ErrorSpike | null;
}

export class PhaseAdmission implements Admission {
  readonly #options: PhaseAdmissionOptions;
  readonly #queue: ItemQueue;
  /** Items held back for a limit that is exhausted for a while. */
  #stuckCount = 0;

  constructor(options: PhaseAdmissionOptions) {
    this.#options = options;
    this.#queue = new ItemQueue({ needs: options.needs, maxHeldBack: MAX_HELD_BACK });
  }

  get owners(): QueuedByOwner {
    return this.#queue;
  }

  get queuedCount(): number {
    return this.#queue.size;
  }

  get heldBackCount(): number {
    return this.#queue.heldBackCount;
  }

  get limitCount(): number {
    return this.#queue.limitCount;
  }

  get bypassedCount(): number {
    return Math.max(this.#queue.blockedCount, this.#stuckCount);
  }

  get isCrowded(): boolean {
    return this.#queue.heldBackCount >= MAX_HELD_BACK / 2;
  }

  get hasMoreToSee(): boolean {
    return this.#queue.hasMoreToSee;
  }

  get share(): number {
    const { pressure, spike } = this.#options;
    return pressure.factor * (spike?.factor ?? 1);
  }

  offer(lease: Lease): void {
    this.#queue.add(lease);
  }

  withdraw(leases: ReadonlySet<Lease>): Map<Lease, number[]> {
    return this.#queue.drop(leases);
  }

  next(nowMs: number): AdmittedItem | null {
    const item = this.#queue.take(nowMs);
    if (item?.charge) item.charge.start();
    if (item?.permits) for (const permit of item.permits) permit.start(nowMs);
    return item;
  }

  nextInCall(first: AdmittedItem, nowMs: number): AdmittedItem | null {
    const item = this.#queue.takeLike(first, nowMs);
    if (item?.charge) item.charge.start();
    if (item?.permits) {
      item.permits = item.permits.filter((permit) => permit.isPerItem);
      for (const permit of item.permits) permit.start(nowMs);
    }
    return item;
  }

  settled(item: RunningItem, outcome: RecordedOutcome): void {
    const { spike } = this.#options;
    if (spike) {
      const isFailure = outcome.failure !== null && kindOf(outcome.failure) !== 'ok';
      spike.note(isFailure);
      // During an error spike, retries are delayed too.
      if (isFailure && outcome.kind === 'retry') outcome.delayMs /= spike.factor;
    }
    if (item.charge) (item.charge as ItemCharge).finish(outcome.cost ?? null);
  }

  gaveUp(item: RunningItem): void {
    if (item.charge) (item.charge as ItemCharge).finish(item.realCost);
  }

  callEnded(call: Call, heard: Heard | null): void {
    if (!call.permits) return;
    for (const permit of call.permits) {
      if (heard) permit.finish(heard);
      else permit.release();
    }
    call.permits = null;
  }

  review(freeSlots: number): GivenBack[] | null {
    if (!this.#queue.hasDemand) return null;
    const { slots, itemsPerCall } = this.#options;
    const given: GivenBack[] = [];
    for (let next = this.#queue.dropLongestWait(); next; next = this.#queue.dropLongestWait()) {
      const { limit, items, before } = next;
      giveBack(items, limit.putBack(items.length, before, monotonicMs()), given);
    }
    const short = this.#queue.dropShort(slots);
    this.#stuckCount = short.kept;
    giveBack(short.items, 0, given);
    for (const limit of this.#queue.tellDemand(freeSlots, itemsPerCall)) limit.want();
    return given;
  }

  waits(nowMs: number): Wait[] {
    return this.#queue.waits(nowMs);
  }

  heldBack(): Iterable<{ item: AdmittedItem; limit: Limit }> {
    return this.#queue.heldBack();
  }
}

/** Groups the items by lease. */
function giveBack(items: readonly AdmittedItem[], waitMs: number, given: GivenBack[]): void {
  const byLease = new Map<Lease, number[]>();
  for (const { lease, claimed } of items) {
    const known = byLease.get(lease);
    if (known) known.push(claimed.seq);
    else byLease.set(lease, [claimed.seq]);
  }
  const delayMs = Math.max(MIN_GIVE_BACK_MS, waitMs);
  for (const [lease, seqs] of byLease) given.push({ lease, seqs, delayMs });
}

// Decides which queued item may start now. A phase's pool offers its leases here, asks for the next item when a slot is
// free, and reports the results of items and calls. Owner turns, resource permits, budgets and pressure are behind this
// interface: to follow a row from its claim to its flush you need nothing else from this folder.
import type { ClaimedItem } from '../../engine/claims/claim-work.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import type { Lease } from '../leases/lease.ts';
import type { Call } from '../run/call.ts';
import type { RunningItem } from '../run/running-item.ts';
import type { ItemCharge } from './item-charge.ts';
import type { Heard, KeyPermits } from './key-permits.ts';
import type { Limit } from './permit.ts';

/** An item that may start. It holds the permits and budget it needs. */
export interface AdmittedItem {
  lease: Lease;
  claimed: ClaimedItem;
  /** Resource permits, held until the call ends; null: it needs none. */
  permits: readonly KeyPermits[] | null;
  /** Cost of its call; null: no cost is known. */
  charge: ItemCharge | null;
  /** Its parsed input, if a resource key or the cost needed it before the call. */
  parsed: unknown;
  /** The limit that it waited for; absent: it did not wait for one. */
  waitedFor?: 'rate_limit' | 'budget';
}

/** Queued items that wait for the same limit. */
export interface Wait {
  reason: string;
  items: number;
  /** Time until the first may start; null: unknown. */
  startInMs: number | null;
}

/** Items that would wait too long here: any worker may claim them after `delayMs`. */
export interface GivenBack {
  lease: Lease;
  seqs: number[];
  delayMs: number;
}

/** Queued items of each owner, used to decide on claims. */
export interface QueuedByOwner {
  readonly ownerCount: number;
  ownerIds(): Iterable<string>;
  countOf(ownerId: string): number;
  weightOf(ownerId: string): number;
  /** Weight of all owners with queued items, except this one. */
  weightBeside(ownerId: string): number;
  /** Queued items of an owner that is at its limit of items in flight; 0 if it is not. */
  blockedOf(ownerId: string): number;
}

export interface Admission {
  readonly queuedCount: number;
  /** Queued items that wait for a permit or a budget. */
  readonly heldBackCount: number;
  /** Number of permits and budgets that queued items wait for. */
  readonly limitCount: number;
  /** Queued items that newly claimed items can bypass. */
  readonly bypassedCount: number;
  /** True if so many items are held back that further claims bring little. */
  readonly isCrowded: boolean;
  /** True if the last search stopped early: another one may find a startable item. */
  readonly hasMoreToSee: boolean;
  readonly owners: QueuedByOwner;
  /** Share of the slots that may be used, above 0 and at most 1. */
  readonly share: number;

  /** Queues the items of a lease. */
  offer(lease: Lease): void;
  /** Takes back the waiting items of these leases. */
  withdraw(leases: ReadonlySet<Lease>): Map<Lease, number[]>;
  /** The next item that may start; null: none may. */
  next(nowMs: number): AdmittedItem | null;
  /** Another item of the same job, for the same call. */
  nextInCall(first: AdmittedItem, nowMs: number): AdmittedItem | null;
  /** Call when the item has its outcome. May increase the outcome's retry delay. */
  settled(item: RunningItem, outcome: RecordedOutcome): void;
  /** Call when the item was given up without an outcome. */
  gaveUp(item: RunningItem): void;
  /** Call at the end of a call. `heard` is null if the call says nothing about the service. */
  callEnded(call: Call, heard: Heard | null): void;
  /** Requests missing permits and budgets, and returns items to give back; null if nothing is held back. */
  review(freeSlots: number): GivenBack[] | null;
  /** Why queued items wait for something other than a slot. */
  waits(nowMs: number): Wait[];
  /** Queued items that wait for a permit or a budget, each with its limit. */
  heldBack(): Iterable<{ item: AdmittedItem; limit: Limit }>;
}

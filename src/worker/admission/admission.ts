// Decides which queued item may start now. The pool of a phase offers its leases here, asks for the next item when a slot is
// free, and reports how items and calls ended. Turns of owners, permits of resources, budgets and pressure are behind this
// interface: to follow a row from its claim to its flush nothing else of this folder is needed.
import type { ClaimedItem } from '../../engine/claims/claim-work.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import type { Lease } from '../leases/lease.ts';
import type { Call } from '../run/call.ts';
import type { RunningItem } from '../run/running-item.ts';
import type { ItemCharge } from './item-charge.ts';
import type { Heard, KeyPermits } from './key-permits.ts';

/** An item on its way into a call; it may start, and holds what it needs for that. */
export interface AdmittedItem {
  lease: Lease;
  claimed: ClaimedItem;
  /** Permits of resources, held until its call ends; null: it needs none. */
  permits: readonly KeyPermits[] | null;
  /** Cost of its call; null: no cost is known. */
  charge: ItemCharge | null;
  /** Its input, if something had to look at it before the call. */
  parsed: unknown;
}

/** Items that may not start now. */
export interface Wait {
  reason: string;
  items: number;
  /** Until the first may start, as far as it is known. */
  startInMs: number | null;
}

/** Items that would wait for too long here: others may claim them after a while. */
export interface GivenBack {
  lease: Lease;
  seqs: number[];
  delayMs: number;
}

/** Queued items of each owner, which claims go by. */
export interface QueuedByOwner {
  readonly ownerCount: number;
  ownerIds(): Iterable<string>;
  countOf(ownerId: string): number;
  weightOf(ownerId: string): number;
  /** Weight of all owners with queued items, except this one. */
  weightBeside(ownerId: string): number;
  /** Items of an owner who has enough under way; 0 when the owner could have more. */
  blockedOf(ownerId: string): number;
}

export interface Admission {
  readonly queuedCount: number;
  /** Queued items that wait for a permit or a budget. */
  readonly heldBackCount: number;
  /** Permits and budgets that queued items wait for. */
  readonly limitCount: number;
  /** Queued items that further claims would not have to wait behind. */
  readonly bypassedCount: number;
  /** So much is held back that more claims bring little. */
  readonly isCrowded: boolean;
  /** The last look ended before it had seen everything: another may find something. */
  readonly hasMoreToSee: boolean;
  readonly owners: QueuedByOwner;
  /** Part of the slots that may be used, above 0 up to 1. */
  readonly share: number;

  /** The items of a lease wait here from now on. */
  offer(lease: Lease): void;
  /** Takes back the waiting items of these leases. */
  withdraw(leases: ReadonlySet<Lease>): Map<Lease, number[]>;
  /** The next item that may start; null: none may. */
  next(nowMs: number): AdmittedItem | null;
  /** Another one of the same job, for the same call. */
  nextInCall(first: AdmittedItem, nowMs: number): AdmittedItem | null;
  /** The item has its outcome, which may come to be retried later for it. */
  settled(item: RunningItem, outcome: RecordedOutcome): void;
  /** The item was given up without an outcome. */
  gaveUp(item: RunningItem): void;
  /** The call has ended; `heard` is null when it says nothing about the service that it called. */
  callEnded(call: Call, heard: Heard | null): void;
  /** Asks for what is missing. Null: nothing is held back. */
  review(freeSlots: number): GivenBack[] | null;
  /** Why queued items wait for something other than a slot. */
  waits(nowMs: number): Wait[];
}

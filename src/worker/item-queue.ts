// Claimed items that wait for a slot of one phase. Owners take turns by weight, whatever the size of their jobs; within an
// owner items of a higher priority go first. An item whose resource has no permit for it is put aside under the key it
// waits for, so that it neither holds a slot nor stands in the way of items with other keys.
import type { ClaimedItem } from '../store/commands/claim-items.ts';
import type { ItemCharge } from './item-charge.ts';
import type { KeyPermits } from './key-permits.ts';
import type { Lease } from './lease.ts';
import type { Demand, Permit, PermitLine } from './permit.ts';

export interface WaitingItem {
  lease: Lease;
  claimed: ClaimedItem;
  /** What it needs of resources; null: nothing. */
  permits: readonly KeyPermits[] | null;
  /** What it costs; null: nothing that is known. */
  charge: ItemCharge | null;
}

export interface ItemGate {
  /** All items need the same permits: when one has to wait, all have to. */
  isUniform: boolean;
  /** Null: it may start at any time. */
  permitsOf: (lease: Lease, claimed: ClaimedItem) => readonly KeyPermits[] | null;
  /** What its call costs, and who pays; null: nobody asks. */
  chargeOf: (lease: Lease, claimed: ClaimedItem) => ItemCharge | null;
  /** Changes whenever permits may have come. */
  version: () => number;
}

export interface ItemQueueOptions {
  gate: ItemGate;
  /** Items put aside at the most. */
  maxAside: number;
}

/** What waits of one owner. */
interface Lane {
  leases: Lease[];
  /** Next item of the first lease. */
  position: number;
  credit: number;
  aside: Map<PermitLine, WaitingItem[]>;
}

/** Items that one look goes through to find one that may start. */
const LOOK_AT = 200;

export class ItemQueue {
  readonly #options: ItemQueueOptions;
  /** By owner, in the order of their turns. */
  readonly #lanes = new Map<string, Lane>();
  #size = 0;
  #asideCount = 0;
  /** Nothing put aside can start before this, as long as the gate's version stays. */
  #asideDueMs = 0;
  #seenVersion = -1;
  /** Lines that were told what is wanted of them. */
  readonly #told = new Set<PermitLine>();

  constructor(options: ItemQueueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  /** Items that wait for a permit. */
  get asideCount(): number {
    return this.#asideCount;
  }

  hasOf(ownerId: string): boolean {
    return this.#lanes.has(ownerId);
  }

  add(lease: Lease): void {
    const { owner, priority, items } = lease.claim;
    const { ownerId } = owner;
    let lane = this.#lanes.get(ownerId);
    if (!lane) {
      lane = { leases: [], position: 0, credit: 0, aside: new Map() };
      this.#lanes.set(ownerId, lane);
    }
    const { leases } = lane;
    let at = leases.length;
    // Never before a lease that is being taken from.
    const first = lane.position > 0 ? 1 : 0;
    while (at > first && leases[at - 1]!.claim.priority < priority) at -= 1;
    leases.splice(at, 0, lease);
    this.#size += items.length;
  }

  /** The next item that may start; its permits are the caller's to take. */
  take(nowMs: number): WaitingItem | null {
    if (this.#lanes.size === 1) {
      const [ownerId, lane] = this.#lanes.entries().next().value!;
      const item = this.#takeFrom(lane, nowMs);
      if (item) this.#size -= 1;
      if (!isOpen(lane)) this.#lanes.delete(ownerId);
      return item;
    }
    // Each owner has a turn at most twice: once to use up what it has left, once with new credit.
    for (let turns = this.#lanes.size * 2; turns > 0; turns -= 1) {
      const [ownerId, lane] = this.#lanes.entries().next().value!;
      if (lane.credit > 0) {
        const item = this.#takeFrom(lane, nowMs);
        if (item) {
          lane.credit -= 1;
          this.#size -= 1;
          return item;
        }
      }
      lane.credit = weightOf(lane);
      this.#lanes.delete(ownerId);
      if (isOpen(lane)) this.#lanes.set(ownerId, lane);
    }
    return null;
  }

  /** Another item of the same job, for a call of several. */
  takeLike(first: WaitingItem, nowMs: number): WaitingItem | null {
    const lane = this.#lanes.get(first.lease.claim.owner.ownerId);
    const before = first.charge?.isGated ? lane?.aside.get(first.charge.line) : undefined;
    if (lane && before) return this.#takeFirstAside(lane, first.charge!.line, before, nowMs);
    if (lane?.leases[0]?.claim.jobId !== first.lease.claim.jobId) return null;
    const item = this.#takeFrom(lane, nowMs, false);
    if (item) this.#size -= 1;
    return item;
  }

  /** Of those that wait for the same budget. What a call needs of resources the first item has. */
  #takeFirstAside(lane: Lane, line: PermitLine, items: WaitingItem[], nowMs: number): WaitingItem | null {
    if (!permitOf(items[0]!, line).canStart(nowMs)) return null;
    const item = items.shift()!;
    if (items.length === 0) lane.aside.delete(line);
    this.#asideCount -= 1;
    this.#size -= 1;
    return item;
  }

  /** Takes out what waits of one lease, or of all. */
  drop(lease: Lease | null): Map<Lease, number[]> {
    const dropped = new Map<Lease, number[]>();
    const add = (of: Lease, seqs: number[]): void => {
      if (seqs.length > 0) dropped.set(of, [...(dropped.get(of) ?? []), ...seqs]);
    };
    for (const [ownerId, lane] of [...this.#lanes]) {
      lane.leases = lane.leases.filter((queued, at) => {
        if (lease !== null && queued !== lease) return true;
        add(
          queued,
          queued.claim.items.slice(at === 0 ? lane.position : 0).map(({ seq }) => seq),
        );
        if (at === 0) lane.position = 0;
        return false;
      });
      for (const [line, items] of [...lane.aside]) {
        const kept = items.filter((item) => lease !== null && item.lease !== lease);
        for (const item of items) if (!kept.includes(item)) add(item.lease, [item.claimed.seq]);
        this.#asideCount -= items.length - kept.length;
        if (kept.length > 0) lane.aside.set(line, kept);
        else lane.aside.delete(line);
      }
      if (!isOpen(lane)) this.#lanes.delete(ownerId);
    }
    for (const seqs of dropped.values()) this.#size -= seqs.length;
    return dropped;
  }

  /**
   * Too much waits for permits: takes out the tail of the longest line, which would have to wait longest. The caller
   * gives it back to the database until its turn may come.
   */
  dropLongestWait(): { line: PermitLine; before: number; items: WaitingItem[] } | null {
    if (this.#asideCount < this.#options.maxAside) return null;
    let longest: { lane: Lane; line: PermitLine; items: WaitingItem[] } | null = null;
    for (const lane of this.#lanes.values()) {
      for (const [line, items] of lane.aside)
        if (longest === null || items.length > longest.items.length) longest = { lane, line, items };
    }
    if (!longest) return null;
    const { line, items } = longest;
    const before = Math.floor(items.length / 4);
    const tail = items.splice(before);
    this.#asideCount -= tail.length;
    this.#size -= tail.length;
    if (items.length === 0) longest.lane.aside.delete(line);
    return { line, before, items: tail };
  }

  /**
   * Takes out what waits for something that is not to be had for a while, but for a few of each line: it must not stand
   * in the way of other jobs. `kept` are the few.
   */
  dropShort(keep: number): { items: WaitingItem[]; kept: number } {
    const dropped: WaitingItem[] = [];
    let kept = 0;
    for (const lane of this.#lanes.values()) {
      for (const [line, items] of lane.aside) {
        if (!line.isShort) continue;
        dropped.push(...items.splice(keep));
        kept += items.length;
      }
    }
    this.#asideCount -= dropped.length;
    this.#size -= dropped.length;
    return { items: dropped, kept };
  }

  /** Tells every line what is wanted of it; returns those of which something is. */
  tellDemand(freeSlots: number, itemsPerCall: number): Iterable<PermitLine> {
    const wanted = new Map<PermitLine, Demand>();
    for (const lane of this.#lanes.values()) {
      for (const [line, items] of lane.aside) {
        const known = wanted.get(line);
        wanted.set(line, {
          items: (known?.items ?? 0) + items.length + this.#behind(lane),
          slots: freeSlots,
          cost: costOf(items, Math.max(1, freeSlots) * itemsPerCall),
          next: items[0]!.charge?.reserve ?? 0,
        });
      }
    }
    for (const line of this.#told) if (!wanted.has(line)) line.demands.delete(this);
    this.#told.clear();
    for (const [line, demand] of wanted) {
      line.demands.set(this, demand);
      this.#told.add(line);
    }
    return this.#told;
  }

  /** Items that will come to the same permits, and are not put aside for it. */
  #behind(lane: Lane): number {
    if (!this.#options.gate.isUniform) return 0;
    return lane.leases.reduce((sum, lease) => sum + lease.claim.items.length, -lane.position);
  }

  #takeFrom(lane: Lane, nowMs: number, mayLookAside = true): WaitingItem | null {
    const { gate, maxAside } = this.#options;
    if (mayLookAside) {
      const item = this.#takeAside(lane, nowMs, gate);
      if (item) return item;
    }
    if (gate.isUniform && lane.aside.size > 0) return null;
    for (let looks = LOOK_AT; looks > 0 && this.#asideCount < maxAside; looks -= 1) {
      const item = takeFirst(lane, gate);
      if (!item || (item.permits === null && item.charge === null)) return item;
      const missing = findMissing(item, (permit) => lane.aside.has(permit.line) || !permit.canStart(nowMs));
      if (!missing) return item;
      this.#putAside(lane, missing.line, item);
      if (gate.isUniform) return null;
    }
    return null;
  }

  #putAside(lane: Lane, line: PermitLine, item: WaitingItem): void {
    const waiting = lane.aside.get(line);
    if (waiting) waiting.push(item);
    else lane.aside.set(line, [item]);
    this.#asideCount += 1;
    this.#asideDueMs = 0;
  }

  #takeAside(lane: Lane, nowMs: number, gate: ItemGate): WaitingItem | null {
    if (lane.aside.size === 0) return null;
    const version = gate.version();
    if (version === this.#seenVersion && nowMs < this.#asideDueMs) return null;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const [line, items] of lane.aside) {
      const item = items[0]!;
      const own = permitOf(item, line);
      if (!own.canStart(nowMs)) {
        dueMs = Math.min(dueMs, nowMs + (own.startInMs(nowMs) ?? Number.POSITIVE_INFINITY));
        continue;
      }
      const missing = findMissing(item, (permit) => !permit.canStart(nowMs));
      items.shift();
      this.#asideCount -= 1;
      // Lines take turns too.
      lane.aside.delete(line);
      if (items.length > 0) lane.aside.set(line, items);
      if (!missing) return item;
      this.#putAside(lane, missing.line, item);
    }
    // Only one lane has been looked at when there are several: then every look is a full one.
    if (this.#lanes.size === 1) {
      this.#asideDueMs = dueMs;
      this.#seenVersion = version;
    }
    return null;
  }
}

function permitOf({ permits, charge }: WaitingItem, line: PermitLine): Permit {
  return permits?.find((permit) => permit.line === line) ?? charge!;
}

/** The first permit that it needs and that is not to be had. */
function findMissing(
  { permits, charge }: WaitingItem,
  isMissing: (permit: Permit) => boolean,
): Permit | undefined {
  const missing = permits?.find(isMissing);
  if (missing) return missing;
  return charge?.isGated && isMissing(charge) ? charge : undefined;
}

function costOf(items: readonly WaitingItem[], count: number): number {
  if (items[0]!.charge === null) return 0;
  let cost = 0;
  for (let at = 0; at < items.length && at < count; at += 1) cost += items[at]!.charge?.reserve ?? 0;
  return cost;
}

function takeFirst(lane: Lane, gate: ItemGate): WaitingItem | null {
  const lease = lane.leases[0];
  if (!lease) return null;
  const claimed = lease.claim.items[lane.position]!;
  lane.position += 1;
  if (lane.position >= lease.claim.items.length) {
    lane.leases.shift();
    lane.position = 0;
  }
  return {
    lease,
    claimed,
    permits: gate.permitsOf(lease, claimed),
    charge: gate.chargeOf(lease, claimed),
  };
}

function isOpen(lane: Lane): boolean {
  return lane.leases.length > 0 || lane.aside.size > 0;
}

/** Items in one turn. */
function weightOf(lane: Lane): number {
  return Math.max(1, lane.leases[0]?.claim.owner.weight ?? 1);
}

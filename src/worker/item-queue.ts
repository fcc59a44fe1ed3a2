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
  /** Items, in leases and aside. */
  count: number;
  weight: number;
  /** Items until it is the turn of the next owner. */
  credit: number;
  aside: Map<PermitLine, WaitingItem[]>;
  asideCount: number;
  /** Those of the owner, once an item had to wait for them. */
  own: PermitLine | null;
  /** Nothing put aside can start before this, as long as the gate's version stays. */
  asideDueMs: number;
  seenVersion: number;
}

/** Items that one look goes through to find one that may start. */
const LOOK_AT = 200;
/** Giving back fewer items than this would cost more than it frees. */
const MIN_DROP = 8;

export class ItemQueue {
  readonly #options: ItemQueueOptions;
  /** By owner, in the order of their turns. */
  readonly #lanes = new Map<string, Lane>();
  #size = 0;
  #asideCount = 0;
  #hasMoreToSee = false;
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

  /** Keys and budgets that items wait for. */
  get lineCount(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) count += lane.aside.size;
    return count;
  }

  /** The last look ended before it had seen everything: another may find something. */
  get hasMoreToSee(): boolean {
    return this.#hasMoreToSee && this.#asideCount < this.#options.maxAside;
  }

  /**
   * Items that more of other work would not have to wait behind: of owners who have enough under way, and, where items
   * need different permits, those that wait for theirs. Where all need the same, more work would wait with them.
   */
  get blockedCount(): number {
    if (this.#asideCount === 0) return 0;
    let count = 0;
    for (const lane of this.#lanes.values()) {
      if (isOwnerFull(lane)) count += lane.count;
      else if (!this.#options.gate.isUniform) count += lane.asideCount;
    }
    return count;
  }

  weightOf(ownerId: string): number {
    return this.#lanes.get(ownerId)?.weight ?? 1;
  }

  countOf(ownerId: string): number {
    return this.#lanes.get(ownerId)?.count ?? 0;
  }

  get ownerCount(): number {
    return this.#lanes.size;
  }

  /** Those who have something here. */
  ownerIds(): Iterable<string> {
    return this.#lanes.keys();
  }

  /** Of all owners who have something here, but this one. */
  weightBeside(ownerId: string): number {
    let weight = 0;
    for (const [other, lane] of this.#lanes) if (other !== ownerId) weight += lane.weight;
    return weight;
  }

  /** Items of an owner who has enough under way; 0 when the owner could have more. */
  blockedOf(ownerId: string): number {
    const lane = this.#lanes.get(ownerId);
    return lane && isOwnerFull(lane) ? lane.count : 0;
  }

  add(lease: Lease): void {
    const { owner, priority, items } = lease.claim;
    const { ownerId } = owner;
    let lane = this.#lanes.get(ownerId);
    if (!lane) {
      const { weight } = owner;
      lane = {
        leases: [],
        position: 0,
        count: 0,
        weight,
        credit: 0,
        aside: new Map(),
        asideCount: 0,
        own: null,
        asideDueMs: 0,
        seenVersion: -1,
      };
      this.#lanes.set(ownerId, lane);
    }
    lane.weight = Math.max(1, owner.weight);
    lane.count += items.length;
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
    this.#hasMoreToSee = false;
    // Who can start nothing now keeps the credit, and is passed over: with few permits for many owners each of them would
    // otherwise get every second one, whatever the weights. New credit is there only when nobody can use what is left.
    for (const isNewRound of [false, true]) {
      for (const [ownerId, lane] of this.#lanes) {
        if (lane.credit > 0 === isNewRound) continue;
        const item = this.#takeFrom(lane, nowMs);
        if (!item) continue;
        lane.credit = (isNewRound ? lane.weight : lane.credit) - 1;
        this.#took(ownerId, lane);
        // Behind those who have not had their turn.
        if (lane.credit === 0 && this.#lanes.size > 1 && this.#lanes.delete(ownerId) && lane.count > 0)
          this.#lanes.set(ownerId, lane);
        return item;
      }
    }
    return null;
  }

  #took(ownerId: string, lane: Lane): void {
    this.#size -= 1;
    lane.count -= 1;
    if (lane.count === 0) this.#lanes.delete(ownerId);
  }

  /** Another item of the same job, for a call of several: the call has its permits, but for those that each item needs. */
  takeLike(first: WaitingItem, nowMs: number): WaitingItem | null {
    const { ownerId } = first.lease.claim.owner;
    const lane = this.#lanes.get(ownerId);
    if (!lane || first.permits?.some((permits) => permits.isPerItem && !permits.canStart(nowMs))) return null;
    const before = first.charge?.isGated ? lane.aside.get(first.charge.line) : undefined;
    if (before) return this.#takeFirstAside(ownerId, lane, first.charge!.line, before, nowMs);
    if (lane.leases[0]?.claim.jobId !== first.lease.claim.jobId || lane.aside.size > 0) return null;
    const item = takeFirst(lane, this.#options.gate);
    if (item?.charge?.isGated && !item.charge.canStart(nowMs)) {
      this.#putAside(lane, item.charge.line, item);
      return null;
    }
    if (item) this.#took(ownerId, lane);
    return item;
  }

  /** Of those that wait for the same budget. What a call needs of resources the first item has. */
  #takeFirstAside(
    ownerId: string,
    lane: Lane,
    line: PermitLine,
    items: WaitingItem[],
    nowMs: number,
  ): WaitingItem | null {
    if (!permitOf(items[0]!, line).canStart(nowMs)) return null;
    const item = items.shift()!;
    if (items.length === 0) lane.aside.delete(line);
    this.#countAside(lane, -1);
    this.#took(ownerId, lane);
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
        this.#countAside(lane, kept.length - items.length);
        if (kept.length > 0) lane.aside.set(line, kept);
        else lane.aside.delete(line);
      }
      lane.count = queuedIn(lane) + lane.asideCount;
      if (lane.count === 0) this.#lanes.delete(ownerId);
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
    if (!longest || longest.items.length < MIN_DROP) return null;
    const { lane, line, items } = longest;
    const before = Math.floor(items.length / 4);
    const tail = items.splice(before);
    this.#countAside(lane, -tail.length);
    this.#size -= tail.length;
    lane.count -= tail.length;
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
        const tail = items.splice(keep);
        this.#countAside(lane, -tail.length);
        lane.count -= tail.length;
        dropped.push(...tail);
        kept += items.length;
      }
    }
    this.#size -= dropped.length;
    return { items: dropped, kept };
  }

  /** Tells every line what is wanted of it; returns those of which something is. */
  tellDemand(freeSlots: number, itemsPerCall: number): Iterable<PermitLine> {
    const wanted = new Map<PermitLine, Demand>();
    for (const lane of this.#lanes.values()) {
      for (const [line, items] of lane.aside) {
        // Others that need something else may fill the slots for ever: what waits must be able to take the next one.
        const isShared = this.#options.gate.isUniform && !line.isPerItem;
        wanted.set(line, {
          items: (wanted.get(line)?.items ?? 0) + items.length + this.#behind(lane),
          slots: isShared ? freeSlots : Math.max(1, freeSlots),
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
    if (!this.#options.gate.isUniform && !isOwnerFull(lane)) return 0;
    return queuedIn(lane);
  }

  #takeFrom(lane: Lane, nowMs: number): WaitingItem | null {
    const { gate, maxAside } = this.#options;
    const item = this.#takeAside(lane, nowMs, gate);
    if (item) return item;
    for (let looks = LOOK_AT; looks > 0 && this.#asideCount < maxAside; looks -= 1) {
      // All that is behind it needs the same.
      if (lane.aside.size > 0 && (gate.isUniform || isOwnerFull(lane))) return null;
      const item = takeFirst(lane, gate);
      if (!item || (item.permits === null && item.charge === null)) return item;
      const missing = findMissing(item, (permit) => lane.aside.has(permit.line) || !permit.canStart(nowMs));
      if (!missing) return item;
      this.#putAside(lane, missing.line, item);
    }
    if (lane.leases.length > 0) this.#hasMoreToSee = true;
    return null;
  }

  #countAside(lane: Lane, change: number): void {
    lane.asideCount += change;
    this.#asideCount += change;
  }

  #putAside(lane: Lane, line: PermitLine, item: WaitingItem): void {
    const waiting = lane.aside.get(line);
    if (waiting) waiting.push(item);
    else lane.aside.set(line, [item]);
    this.#countAside(lane, 1);
    if (line.isPerItem) lane.own = line;
    lane.asideDueMs = 0;
    // At once: a key that nobody wants is forgotten, and what waits would wait for one that is not synced.
    const reserve = item.charge?.reserve ?? 0;
    if (!line.demands.has(this)) line.demands.set(this, { items: 1, slots: 1, cost: reserve, next: reserve });
    this.#told.add(line);
  }

  #takeAside(lane: Lane, nowMs: number, gate: ItemGate): WaitingItem | null {
    if (lane.aside.size === 0) return null;
    const version = gate.version();
    if (version === lane.seenVersion && nowMs < lane.asideDueMs) return null;
    let dueMs = Number.POSITIVE_INFINITY;
    // Those that come in meanwhile are at the end, and not looked at twice.
    for (const [line, items] of [...lane.aside]) {
      const item = items[0];
      if (!item) continue;
      const own = permitOf(item, line);
      if (!own.canStart(nowMs)) {
        dueMs = Math.min(dueMs, nowMs + (own.startInMs(nowMs) ?? Number.POSITIVE_INFINITY));
        continue;
      }
      // Of several keys only the one it waited for is sure to be the same still.
      if ((item.permits?.length ?? 0) > 1) item.permits = gate.permitsOf(item.lease, item.claimed);
      const missing = findMissing(item, (permit) => !permit.canStart(nowMs));
      items.shift();
      this.#countAside(lane, -1);
      // Lines take turns too.
      lane.aside.delete(line);
      if (items.length > 0) lane.aside.set(line, items);
      if (!missing) return item;
      this.#putAside(lane, missing.line, item);
    }
    lane.asideDueMs = dueMs;
    lane.seenVersion = version;
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

/** Not put aside. */
function queuedIn(lane: Lane): number {
  return lane.leases.reduce((sum, lease) => sum + lease.claim.items.length, -lane.position);
}

/** Its owner has enough under way: nothing of it can start, whatever else it needs. */
function isOwnerFull({ own, aside }: Lane): boolean {
  return own !== null && aside.has(own);
}

// In which order the pools of a worker are served where they compete: for claims, for room in the backlog of outcomes,
// and for turns of the event loop.
import { backlogShares, comparePhases, goesBefore, type OrderedPhase } from '../../core/items/phase-order.ts';

export interface OrderedPool {
  readonly order: OrderedPhase;
  /** Has more to start in the next turn of the loop. */
  readonly isYielding: boolean;
  pump(): void;
}

/** The place of one pool among the others. */
export class PoolPlace {
  ahead: OrderedPool[] = [];
  behind: OrderedPool[] = [];
  /** The part of the bound on unwritten outcomes up to which this pool continues. */
  backlogShare = 1;

  /** No pool that goes before waits for the next turn of the loop to start more. */
  get hasTurn(): boolean {
    for (const pool of this.ahead) if (pool.isYielding) return false;
    return true;
  }

  /** The pool has started what it could: those behind it may continue. */
  pumpBehind(): void {
    for (const pool of this.behind) pool.pump();
  }
}

export class PoolOrder<Pool extends OrderedPool> {
  readonly #places = new Map<Pool, PoolPlace>();
  #inOrder: Pool[] = [];

  /** Its place changes as others join. */
  join(pool: Pool): PoolPlace {
    const joined = new PoolPlace();
    this.#places.set(pool, joined);
    const pools = [...this.#places.keys()];
    this.#inOrder = [...pools].sort((a, b) => comparePhases(a.order, b.order));
    const shares = backlogShares(pools.map(({ order }) => order));
    for (const [at, each] of pools.entries()) {
      const place = this.#places.get(each)!;
      place.ahead = this.#inOrder.filter((other) => goesBefore(other.order, each.order));
      place.behind = this.#inOrder.filter((other) => goesBefore(each.order, other.order));
      place.backlogShare = shares[at]!;
    }
    return joined;
  }

  get inOrder(): readonly Pool[] {
    return this.#inOrder;
  }

  pumpAll(): void {
    for (const pool of this.#inOrder) pool.pump();
  }
}

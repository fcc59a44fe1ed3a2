// The order in which a worker's pools are served where they compete: for claims, for room in the backlog of outcomes,
// and for turns of the event loop.
import { backlogShares, comparePhases, goesBefore, type OrderedPhase } from '../../core/items/phase-order.ts';

export interface OrderedPool {
  readonly order: OrderedPhase;
  /** True if the pool waits for the next turn of the loop to start more items. */
  readonly isYielding: boolean;
  pump(): void;
}

/** The position of one pool relative to the others. */
export class PoolPlace {
  ahead: OrderedPool[] = [];
  behind: OrderedPool[] = [];
  /** Share of the backlog bound up to which this pool continues. */
  backlogShare = 1;

  /** False while a pool with precedence waits for the next turn of the loop. */
  get hasTurn(): boolean {
    for (const pool of this.ahead) if (pool.isYielding) return false;
    return true;
  }

  /** Lets the pools behind this one continue, after it has started all it could. */
  pumpBehind(): void {
    for (const pool of this.behind) pool.pump();
  }
}

export class PoolOrder<Pool extends OrderedPool> {
  readonly #places = new Map<Pool, PoolPlace>();
  #inOrder: Pool[] = [];

  /** The returned position is updated as other pools join. */
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

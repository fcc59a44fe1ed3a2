// In which order the pools of a worker are served where they compete: for claims, for room in the backlog of outcomes,
// and for turns of the event loop.
import { backlogShares, comparePhases, goesBefore } from '../../core/items/phase-order.ts';
import type { PhasePool } from '../run/phase-pool.ts';

interface Place {
  ahead: PhasePool[];
  behind: PhasePool[];
  backlogShare: number;
}

export class PoolOrder {
  readonly #inOrder: PhasePool[];
  readonly #places: Map<PhasePool, Place>;

  constructor(pools: readonly PhasePool[]) {
    const shares = backlogShares(pools.map((pool) => pool.order));
    this.#inOrder = [...pools].sort((a, b) => comparePhases(a.order, b.order));
    this.#places = new Map(
      pools.map((pool, i) => [
        pool,
        {
          ahead: this.#inOrder.filter((other) => goesBefore(other.order, pool.order)),
          behind: this.#inOrder.filter((other) => goesBefore(pool.order, other.order)),
          backlogShare: shares[i]!,
        },
      ]),
    );
  }

  get inOrder(): readonly PhasePool[] {
    return this.#inOrder;
  }

  /** The part of the bound on unwritten outcomes up to which this pool goes on. */
  backlogShare(pool: PhasePool): number {
    return this.#places.get(pool)!.backlogShare;
  }

  /** Nobody who goes before waits for the next turn of the loop to start more. */
  hasTurn(pool: PhasePool): boolean {
    return !this.#places.get(pool)!.ahead.some((other) => other.isYielding);
  }

  pumpAll(): void {
    for (const pool of this.#inOrder) pool.pump();
  }

  /** Has started what it could: those behind it may go on. */
  pumpBehind(pool: PhasePool): void {
    for (const other of this.#places.get(pool)!.behind) other.pump();
  }
}

// Permission to start one item, and the limit that grants it: a resource, or the budgets of a job.

export interface Permit {
  /** Items without this permit wait in line for this limit. */
  readonly limit: Limit;
  /** True if it can be taken now. */
  canStart(nowMs: number): boolean;
  /** Milliseconds until it can be taken; null: not before a sync. */
  startInMs(nowMs: number): number | null;
}

export interface Limit {
  /** Why items wait for it. */
  readonly reason: string;
  /** True for a budget, false for a rate limit. */
  readonly isBudget?: boolean;
  /** By queue: several phases may wait for the same limit. */
  readonly demands: Map<object, Demand>;
  /** True if a `runMany` call needs one permit per item. */
  readonly isPerItem?: boolean;
  /** True if nothing is available until calls in flight, here or in other workers, have finished. */
  readonly isShort: boolean;
  /** Call when demands have changed. Syncs soon, or checks again when a permit is due. */
  want(): void;
  /**
   * Estimates how many milliseconds until `count` returned items, queued behind `before` others, may start. Items
   * returned earlier go before them.
   */
  putBack(count: number, before: number, nowMs: number): number;
}

/** Items that a phase would start now if this limit allowed it. */
export interface Demand {
  items: number;
  slots: number;
  /** Estimated cost of the items that have a slot, or at least of the first item. */
  cost: number;
  /** Estimated cost of the first item. */
  next: number;
}

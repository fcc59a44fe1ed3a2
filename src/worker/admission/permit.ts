// Permission to start one item, and the limit that gives it: a resource, or the budgets of a job.

export interface Permit {
  /** Items that miss this permit wait for this limit, one behind the other. */
  readonly limit: Limit;
  /** It is available at this moment. */
  canStart(nowMs: number): boolean;
  /** In how many milliseconds, as far as it is known; null: not before a sync. */
  startInMs(nowMs: number): number | null;
}

export interface Limit {
  /** Why items wait for it. */
  readonly reason: string;
  /** By queue: several phases may wait for the same limit. */
  readonly demands: Map<object, Demand>;
  /** A call of several items needs one permit for each of them. */
  readonly isPerItem?: boolean;
  /** Nothing is available for a while, whatever is asked: it depends on calls that are under way, here or elsewhere. */
  readonly isShort: boolean;
  /** Demands have changed: sync soon, or look again when it is time. */
  want(): void;
  /**
   * So many items go back, with this many before them: milliseconds until it may be their turn, as far as it is known.
   * Those that went back before them come before them.
   */
  putBack(count: number, before: number, nowMs: number): number;
}

/** Items that a phase would start now, if it might. */
export interface Demand {
  items: number;
  slots: number;
  /** Estimates of the items that there are slots for, at least of the first. */
  cost: number;
  /** Estimate of the first. */
  next: number;
}

// What an item may have to wait for before it starts, as the queue of a phase sees it: a permit of a resource, or an
// amount of a budget.

export interface Permit {
  /** Items that miss this permit wait in this line, one behind the other. */
  readonly line: PermitLine;
  /** It is to be had at this moment. */
  canStart(nowMs: number): boolean;
  /** In how many milliseconds, as far as it is known; null: not before a sync. */
  startInMs(nowMs: number): number | null;
}

export interface PermitLine {
  /** By whoever asks: several phases may wait for the same. */
  readonly demands: Map<object, Demand>;
  /** A call of several items needs one for each of them. */
  readonly isPerItem?: boolean;
  /** Nothing is to be had for a while, whatever is asked: it depends on calls that are under way, here or elsewhere. */
  readonly isShort: boolean;
  /** Demands were told: sync soon, or look again when it is time. */
  want(): void;
  /**
   * So many items go back, with this many before them: milliseconds until it may be their turn, as far as can be said.
   * Those that went back before them come before them.
   */
  putBack(count: number, before: number, nowMs: number): number;
}

/** What a pool would start now, if it might. */
export interface Demand {
  items: number;
  slots: number;
  /** Estimates of the items that there are slots for, at least of the first. */
  cost: number;
  /** Estimate of the first. */
  next: number;
}

// Limits that an operator may set for an owner: its weight, and how much of its work may run at the same time.
export const MAX_OWNER_WEIGHT = 1000;
export const MAX_OWNER_LIMIT = 1_000_000;

/** The owner of a piece of work, with its limits. */
export interface WorkOwner {
  ownerId: string;
  weight: number;
  /** Maximum number of items in flight; null: unlimited. */
  maxInFlight: number | null;
}
/** Bound of budgets over the API. A request with more is a mistake. */
export const MAX_OWNER_BUDGET = 1e12;

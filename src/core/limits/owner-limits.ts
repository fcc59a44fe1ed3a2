// Limits that an operator may set for an owner: its share of the workers, and how much it may have at once.
export const MAX_OWNER_WEIGHT = 1000;
export const MAX_OWNER_LIMIT = 1_000_000;

/** Whose work it is, and what the owner may have. */
export interface WorkOwner {
  ownerId: string;
  weight: number;
  /** Items under way at once; null: any number. */
  maxInFlight: number | null;
}

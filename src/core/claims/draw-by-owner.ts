// Picks the next owner by lottery: every owner with work has as many tickets as its weight, regardless of the number
// and size of its jobs. It needs no state, so any number of workers draw independently.

export interface OwnedWork {
  owner: { ownerId: string; weight: number };
  priority: number;
}

/**
 * Returns the drawn owner's work with the highest priority; among equals the first, which is the oldest. `draw` is in
 * [0, 1). `work` must not be empty.
 */
export function drawByOwner<Work extends OwnedWork>(work: readonly Work[], draw: number): Work {
  const best = new Map<string, Work>();
  let tickets = 0;
  for (const each of work) {
    const { ownerId, weight } = each.owner;
    const known = best.get(ownerId);
    if (!known) tickets += weight;
    if (!known || each.priority > known.priority) best.set(ownerId, each);
  }
  let ticket = draw * tickets;
  let drawn = work[0]!;
  for (const each of best.values()) {
    drawn = each;
    ticket -= each.owner.weight;
    if (ticket < 0) break;
  }
  return drawn;
}

// Whose turn it is: a lottery in which every owner who has something has as many tickets as their weight, whatever the
// number and size of their jobs. It needs no state, so any number of workers draw without knowing of each other.

export interface OwnedWork {
  owner: { ownerId: string; weight: number };
  priority: number;
}

/**
 * Of the owner who is drawn, the work of the highest priority; among equals the first, which is the oldest.
 * `draw` is in [0, 1). `work` is not empty.
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

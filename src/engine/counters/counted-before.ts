// Whether items of this generation may have contributed to counters in an earlier one. One check is enough: these
// items were complete before the generation was opened, so no contribution can be added later. Items of a paused job
// that still run in an earlier generation are not affected.
import type { Database } from '../../platform/database.ts';
import { hasContributions } from '../../store/views/counters/has-contributions.ts';

const MAX_REMEMBERED = 1000;

const known = new WeakMap<Database, Map<string, boolean>>();

export async function countedBefore(db: Database, jobId: string, generation: number): Promise<boolean> {
  if (generation === 1) return false;
  const remembered = known.get(db) ?? new Map<string, boolean>();
  known.set(db, remembered);
  const key = `${jobId} ${generation}`;
  const found = remembered.get(key) ?? (await hasContributions(db, jobId));
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(key, found);
  return found;
}

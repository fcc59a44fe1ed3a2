// Whether generations before this one may have counted something. It is asked once: when a generation is open, nothing is
// added to earlier ones, so what was not there never will be.
import type { Database } from '../platform/database.ts';
import { hasContributions } from '../store/views/has-contributions.ts';

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

// Whether items of this generation may have counted something in an earlier one. It is asked once: they had ended before the
// generation was opened, so what was not there by then never will be. Items that still run in an earlier generation of a
// paused job are not among them.
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

// Compares the counter entries that one job feeds with the contributions of all jobs, within a time limit. Entities
// and scopes also include entries of other jobs, so only the check of all counters compares them.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Database } from '../../platform/database.ts';
import { findDriftOfEntries } from '../../store/views/counters/find-drift-of-entries.ts';
import { listEntriesOfItems } from '../../store/views/counters/list-entries-of-items.ts';
import { readJob } from '../../store/views/jobs/read-job.ts';
import { type CounterDrift, differingMeasures } from './check-counters.ts';

const ITEMS_PER_STEP = 10_000;
const ENTRIES_PER_STEP = 2000;

export interface JobCounterCheck {
  /** Number of entries compared. */
  checked: number;
  drifted: CounterDrift[];
  /** Number of entries that no longer exist. */
  gone: number;
  complete: boolean;
}

export async function checkJobCounters(
  db: Database,
  jobId: string,
  budgetMs: number,
): Promise<JobCounterCheck> {
  const job = await readJob(db, jobId);
  if (!job) throw new RowmillError('JOB_NOT_FOUND', `there is no job ${jobId}`);
  const check: JobCounterCheck = { checked: 0, drifted: [], gone: 0, complete: true };
  const startedMs = monotonicMs();
  const seen = new Set<number>();
  for (let fromSeq = 0; fromSeq < job.itemCount; fromSeq += ITEMS_PER_STEP) {
    const entries = await listEntriesOfItems(db, jobId, fromSeq, fromSeq + ITEMS_PER_STEP);
    const fresh = entries.filter((entryId) => !seen.has(entryId));
    for (let at = 0; at < fresh.length; at += ENTRIES_PER_STEP) {
      if (monotonicMs() - startedMs > budgetMs) return { ...check, complete: false };
      const part = fresh.slice(at, at + ENTRIES_PER_STEP);
      for (const found of await findDriftOfEntries(db, part)) {
        if (found.isGone) {
          check.gone += 1;
          continue;
        }
        const { counter, ownerId, scope, entity, measures, stored, recounted } = found;
        check.drifted.push({
          level: 'entries',
          counter,
          ownerId,
          scope,
          entity,
          measures: differingMeasures(measures, stored, recounted),
        });
      }
      for (const entryId of part) seen.add(entryId);
      check.checked += part.length;
    }
  }
  return check;
}

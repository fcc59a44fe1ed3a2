// Folds old ledger rows into minutes, so that totals stay cheap for long-running jobs.
import { PeriodicService } from '../../platform/periodic-service.ts';
import { foldLedgerOf } from '../../store/commands/results/fold-ledger.ts';
import { findFoldableJobs } from '../../store/views/results/find-ledger-entry.ts';
import type { EngineContext } from '../engine-context.ts';

const FOLD_INTERVAL_MS = 60_000;

export async function foldLedger(context: EngineContext): Promise<number> {
  let minutes = 0;
  for (const jobId of await findFoldableJobs(context.db, context.settings.foldAfterMs)) {
    minutes += await foldLedgerOf(context.db, jobId, context.settings.foldAfterMs);
  }
  return minutes;
}

export function createLedgerFolder(context: EngineContext): PeriodicService {
  return new PeriodicService({
    name: 'ledger folder',
    intervalMs: FOLD_INTERVAL_MS,
    events: context.events,
    work: () => foldLedger(context),
  });
}

// Removes events of jobs, deliveries and callbacks that are older than the setting eventKeepMs.
import { PeriodicService } from '../../platform/periodic-service.ts';
import { numberJobEvents } from '../../store/commands/number-job-events.ts';
import { pruneOld } from '../../store/commands/prune-events.ts';
import type { EngineContext } from '../engine-context.ts';

const PRUNE_INTERVAL_MS = 10 * 60_000;
const AT_ONCE = 5000;

export async function pruneEvents({ db, settings }: EngineContext): Promise<void> {
  // Where no server runs nobody else gives them the positions by which they are removed.
  await numberJobEvents(db);
  while ((await pruneOld(db, settings.eventKeepMs, AT_ONCE)) === AT_ONCE);
}

export function createEventPruner(context: EngineContext): PeriodicService {
  return new PeriodicService({
    name: 'event pruner',
    intervalMs: PRUNE_INTERVAL_MS,
    events: context.events,
    work: () => pruneEvents(context),
  });
}

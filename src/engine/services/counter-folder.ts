// Folds changes of counter scopes into their totals within seconds. Readers do not depend on it: they add changes
// that are not folded yet.
import { PeriodicService } from '../../platform/periodic-service.ts';
import { foldCounterDeltas } from '../../store/commands/counters/fold-counter-deltas.ts';
import type { EngineContext } from '../engine-context.ts';

const FOLD_INTERVAL_MS = 2000;
/** For a process without counters, in case the processes that have them are gone. */
const IDLE_INTERVAL_MS = 60_000;
/** One step takes a few milliseconds. */
const DELTAS_PER_STEP = 5000;

export async function foldCounters(context: EngineContext): Promise<number> {
  let folded = 0;
  for (;;) {
    const step = await foldCounterDeltas(context.db, DELTAS_PER_STEP);
    folded += step;
    if (step === DELTAS_PER_STEP) continue;
    if (folded > 0) context.events.emit('counters.folded', { deltas: folded });
    return folded;
  }
}

export function createCounterFolder(context: EngineContext, hasCounters: boolean): PeriodicService {
  return new PeriodicService({
    name: 'counter folder',
    intervalMs: hasCounters ? FOLD_INTERVAL_MS : IDLE_INTERVAL_MS,
    events: context.events,
    work: () => foldCounters(context),
  });
}

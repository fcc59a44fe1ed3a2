// Gives events of jobs their positions. Every process may run it; streams also ask for it before each of their looks.
import { PeriodicService } from '../../platform/periodic-service.ts';
import { numberJobEvents } from '../../store/commands/number-job-events.ts';
import type { EngineContext } from '../engine-context.ts';

export async function numberEvents(context: EngineContext): Promise<number> {
  return numberJobEvents(context.db);
}

export function createEventNumbering(context: EngineContext, intervalMs: number): PeriodicService {
  return new PeriodicService({
    name: 'event numbering',
    intervalMs,
    events: context.events,
    work: () => numberEvents(context),
  });
}

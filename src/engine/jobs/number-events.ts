// Gives events of jobs their positions, in which they are read. Whoever reads them asks for it first.
import { numberJobEvents } from '../../store/commands/events/number-job-events.ts';
import type { EngineContext } from '../engine-context.ts';

/** How many got one. */
export async function numberEvents({ db }: EngineContext): Promise<number> {
  return numberJobEvents(db);
}

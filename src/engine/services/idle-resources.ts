// Deletes learned limits of keys that are no longer used, such as the hosts of a finished crawl.
import { PeriodicService } from '../../platform/periodic-service.ts';
import { removeIdleResources } from '../../store/commands/limits/remove-idle-resources.ts';
import type { EngineContext } from '../engine-context.ts';

const FORGET_INTERVAL_MS = 10 * 60_000;

export function createIdleResources(context: EngineContext): PeriodicService {
  const { db, events, settings } = context;
  return new PeriodicService({
    name: 'idle resources',
    intervalMs: Math.min(FORGET_INTERVAL_MS, settings.resourceKeepMs),
    events,
    work: () => removeIdleResources(db, settings.resourceKeepMs),
  });
}

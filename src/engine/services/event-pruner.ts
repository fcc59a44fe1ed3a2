// Deletes job events, callbacks and deliveries older than the setting eventKeepMs, and idempotency keys older than
// idempotencyKeepMs. Workers leave deliveries and keys to the server, because they cannot see them.
import { PeriodicService } from '../../platform/periodic-service.ts';
import { pruneOld } from '../../store/commands/events/prune-events.ts';
import { pruneKeys } from '../../store/commands/jobs/idempotency-keys.ts';
import type { EngineContext } from '../engine-context.ts';
import { numberEvents } from '../jobs/record-change.ts';

const PRUNE_INTERVAL_MS = 10 * 60_000;
const AT_ONCE = 5000;

export async function pruneEvents(context: EngineContext, options: { deliveries: boolean }): Promise<void> {
  const { db, settings } = context;
  // Events are pruned by position. Without a server, only this call assigns positions.
  await numberEvents(context);
  while ((await pruneOld(db, settings.eventKeepMs, AT_ONCE, options)) === AT_ONCE);
  if (options.deliveries) while ((await pruneKeys(db, settings.idempotencyKeepMs, AT_ONCE)) === AT_ONCE);
}

export function createEventPruner(context: EngineContext, options: { deliveries: boolean }): PeriodicService {
  return new PeriodicService({
    name: 'event pruner',
    intervalMs: PRUNE_INTERVAL_MS,
    events: context.events,
    work: () => pruneEvents(context, options),
  });
}

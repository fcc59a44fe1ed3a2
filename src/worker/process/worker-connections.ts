// Connections of a worker, apart for each use: a flush never waits behind claims, nor a heartbeat behind a flush. They
// are opened when first used.
import type { EngineContext } from '../../engine/engine-context.ts';
import { Database } from '../../platform/database.ts';
import type { Logger } from '../../platform/logger.ts';

export interface WorkerConnections {
  claims: EngineContext;
  flushes: EngineContext;
  control: EngineContext;
}

/** On the database of the context, which may stand in for one of them. */
export function openConnections(
  url: string,
  context: Omit<EngineContext, 'db'>,
  log: Logger,
  control?: EngineContext,
): WorkerConnections {
  const { settings } = context;
  const open = (role: string, maxConnections: number): EngineContext => ({
    ...context,
    db: new Database({
      url,
      maxConnections,
      applicationName: `rowmill ${role}`,
      deadlineMs: settings.databaseDeadlineMs,
      keyedAccess: role !== 'control',
      onError: (error) => log.warn({ error: error.message }, 'database connection failed'),
    }),
  });
  return {
    claims: open('claim', settings.claimConcurrency),
    flushes: open('flush', settings.flushConcurrency),
    control: control ?? open('control', 2),
  };
}

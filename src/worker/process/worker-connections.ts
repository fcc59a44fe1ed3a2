// A worker's database connections, separate for each use, so that a flush never waits behind claims, nor a heartbeat
// behind a flush. Connections are opened on first use.
import type { EngineContext } from '../../engine/engine-context.ts';
import { Database } from '../../platform/database.ts';
import type { Logger } from '../../platform/logger.ts';

export interface WorkerConnections {
  claims: EngineContext;
  flushes: EngineContext;
  control: EngineContext;
}

/** `control`: an existing context to use for the control connections. */
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
      // If the server crashes before a claim is on disk, its rows are in the queue again, and the fence refuses the
      // results of this lease. A stored result is never without its claim: the flush that stores it waits for both.
      asyncCommit: role === 'claim',
      onError: (error) => log.warn({ error: error.message }, 'database connection failed'),
    }),
  });
  return {
    claims: open('claim', settings.claimConcurrency),
    flushes: open('flush', settings.flushConcurrency),
    control: control ?? open('control', 2),
  };
}

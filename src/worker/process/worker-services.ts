// The periodic services of a worker. A worker that is restricted to one job runs only its own services.
import type { EngineContext } from '../../engine/engine-context.ts';
import { createBlobCollector } from '../../engine/services/blob-collector.ts';
import { createCallbackRunner } from '../../engine/services/callback-runner.ts';
import { createCounterFolder } from '../../engine/services/counter-folder.ts';
import { createEventPruner } from '../../engine/services/event-pruner.ts';
import { createIdleResources } from '../../engine/services/idle-resources.ts';
import { createLedgerFolder } from '../../engine/services/ledger-folder.ts';
import { createResourceSampler } from '../../engine/services/resource-sampler.ts';
import { createSweeper } from '../../engine/services/sweeper.ts';
import { createIngestResumer } from '../../ingest/ingest-resumer.ts';

import type { Logger } from '../../platform/logger.ts';
import { PeriodicService } from '../../platform/periodic-service.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { HeldLeases } from '../leases/held-leases.ts';
import { obeyControl } from './obey-control.ts';
import type { WorkerConnections } from './worker-connections.ts';

/** Services for the leases this worker holds, and its heartbeat. */
export function createOwnServices(
  context: EngineContext,
  held: HeldLeases,
  register: () => Promise<void>,
): PeriodicService[] {
  const { events, settings, db } = context;
  const watchControl = (): Promise<void> =>
    obeyControl(db, {
      leases: () => held.all(),
      onPaused: (leases) => held.giveBackUnstarted(leases),
      onCancelled: (leases) => held.cancel(leases),
    });
  return [
    new PeriodicService({
      name: 'control watch',
      intervalMs: settings.controlLookMs,
      events,
      work: watchControl,
    }),
    new PeriodicService({ name: 'heartbeat', intervalMs: settings.heartbeatMs, events, work: register }),
  ];
}

/** Services for all jobs, run by every unrestricted worker. */
export function createSharedServices(
  { claims, control: context }: Pick<WorkerConnections, 'claims' | 'control'>,
  pipelines: Pipeline[],
  stopping: AbortSignal,
  log: Logger,
): PeriodicService[] {
  const ingestResumer = createIngestResumer(context, () => pipelines, stopping);
  return [
    createSweeper(context, { keyed: claims.db, onAbandonedIngests: () => ingestResumer.wake() }),
    createLedgerFolder(context),
    createCounterFolder(
      context,
      pipelines.some(({ counters }) => counters.length > 0),
    ),
    createBlobCollector(context),
    createIdleResources(context),
    createResourceSampler(
      context,
      pipelines.some(({ resources }) => Object.keys(resources).length > 0),
    ),
    ingestResumer,
    createCallbackRunner(context, pipelines, log, stopping),
    createEventPruner(context, { deliveries: false }),
  ];
}

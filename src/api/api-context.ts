// What every handler of the API can use.
import type { EngineContext } from '../engine/engine-context.ts';
import type { Logger } from '../platform/logger.ts';
import type { WorkNotifier } from '../platform/notifier.ts';
import type { Pipeline } from '../worker/define-pipeline.ts';
import type { EventHub } from './event-hub.ts';
import type { WorkerConnections } from '../worker/worker-connections.ts';

export interface ApiContext {
  engine: EngineContext;
  pipelines: readonly Pipeline[];
  notifier: WorkNotifier;
  /** For time slices that run in this process. */
  slices: WorkerConnections;
  streams: EventHub;
  log: Logger;
}

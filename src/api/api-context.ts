// What every handler of the API can use.
import type { EngineContext } from '../engine/engine-context.ts';
import type { SourceConfig } from '../ingest/sources/source-config.ts';
import type { Logger } from '../platform/logger.ts';
import type { WorkNotifier } from '../platform/notifier.ts';
import type { Pipeline } from '../worker/define-pipeline.ts';
import type { WorkerConnections } from '../worker/worker-connections.ts';
import type { BackgroundWork } from './background-work.ts';
import type { Slots } from './slots.ts';

export interface ApiContext {
  engine: EngineContext;
  pipelines: readonly Pipeline[];
  notifier: WorkNotifier;
  /** For time slices that run in this process. */
  slices: WorkerConnections;
  /** Configured sources of files. */
  sources: readonly SourceConfig[];
  /** What goes on after its request was answered. */
  background: BackgroundWork;
  /** What each caller, or each owner, has under way here. */
  slots: { uploads: Slots; exports: Slots; kickoffs: Slots };
  log: Logger;
}

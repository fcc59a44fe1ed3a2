// What every handler of the API can use.
import type { EngineContext } from '../engine/engine-context.ts';
import type { SourceConfig } from '../ingest/sources/source-config.ts';
import type { Database } from '../platform/database.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { WorkNotifier } from '../platform/notifier.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { WorkerConnections } from '../worker/process/worker-connections.ts';
import type { BackgroundWork } from './operations/background-work.ts';
import type { CursorSignature } from './answers/cursor-signature.ts';
import type { EventHub } from './events/event-hub.ts';
import type { Slots } from './requests/slots.ts';

export interface ApiContext {
  engine: EngineContext;
  /**
   * For lists and details: every access is by key. A connection keeps the plan that it made first; one made while the
   * tables were small would read all of them for every page, until the server looks at them again.
   */
  reads: Database;
  cursors: CursorSignature;
  pipelines: readonly Pipeline[];
  notifier: WorkNotifier;
  /** For time slices that run in this process. */
  slices: WorkerConnections;
  /** Configured sources of files. */
  sources: readonly SourceConfig[];
  /** What goes on after its request was answered. */
  background: BackgroundWork;
  /** What each caller, or each owner, has under way here. */
  slots: { uploads: Slots; exports: Slots; slices: Slots; webhookTests: Slots; images: Slots };
  /** Of this process. */
  metrics: Metrics;
  streams: EventHub;
  log: Logger;
}

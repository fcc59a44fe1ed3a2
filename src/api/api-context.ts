// Dependencies shared by all handlers of the API.
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

export interface ReloadState {
  /** Successful reloads since the start. */
  count: number;
  /** Why the last reload failed; the earlier code is still in use. Null if it succeeded. */
  error: { message: string; hint: string } | null;
}

export interface ApiContext {
  engine: EngineContext;
  /**
   * Connections for lists and details, which access tables by key only. A connection keeps its first query plan; a
   * plan made while the tables were small would scan them for every page until PostgreSQL analyzes them again.
   */
  reads: Database;
  cursors: CursorSignature;
  pipelines: readonly Pipeline[];
  notifier: WorkNotifier;
  /** Connections for time slices that run in this process. */
  slices: WorkerConnections;
  sources: readonly SourceConfig[];
  /** Files that the page offers for a first job: paths. */
  samples: readonly string[];
  /** Reloads of `rowmill dev`; null if this server does not reload its pipelines. */
  reload: ReloadState | null;
  /** Work that continues after its request was answered. */
  background: BackgroundWork;
  /** Work in flight in this process, per caller or per owner. */
  slots: { uploads: Slots; checks: Slots; exports: Slots; slices: Slots; webhookTests: Slots; images: Slots };
  /** Metrics of this process. */
  metrics: Metrics;
  streams: EventHub;
  log: Logger;
}

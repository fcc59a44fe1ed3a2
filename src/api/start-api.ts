// Starts the API server: opens the database, listens, and starts the periodic services.
import type { FastifyInstance } from 'fastify';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { createEventPruner } from '../engine/services/event-pruner.ts';
import { WebhookSender } from '../engine/services/webhook-sender.ts';
import type { SourceConfig } from '../ingest/sources/source-config.ts';
import { openBlobStore } from '../platform/blob-store/open-blob-store.ts';
import { Database } from '../platform/database.ts';
import { Events } from '../platform/events.ts';
import { logEvents } from '../platform/log-events.ts';
import { startTraces } from '../platform/traces/start-traces.ts';
import type { Logger } from '../platform/logger.ts';
import { WorkNotifier } from '../platform/notifier.ts';
import type { Settings } from '../platform/settings.ts';
import { logDatabaseWait, whenDatabaseAnswers } from '../platform/when-database-answers.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { openConnections } from '../worker/process/worker-connections.ts';
import type { ApiContext } from './api-context.ts';
import { createApiMetrics } from './operations/api-metrics.ts';
import { ApiServices } from './operations/api-services.ts';
import { BackgroundWork } from './operations/background-work.ts';
import { CursorSignature } from './answers/cursor-signature.ts';
import { EventHub } from './events/event-hub.ts';
import { offerFirstAccount } from './operations/offer-first-account.ts';
import { createServer } from './server.ts';
import { Slots } from './requests/slots.ts';

/** Maximum number of concurrent background tasks, such as ingests, removals and cancellations. */
const BACKGROUND_AT_ONCE = 4;

export interface ApiOptions {
  databaseUrl: string;
  /** Pipelines of which jobs can be created. Their handlers run in this process only in time slices. */
  pipelines: readonly Pipeline[];
  settings: Settings;
  /** Configured file sources. Default: none. */
  sources?: readonly SourceConfig[];
  /** Paths of files that the page offers for a first job. Default: none. */
  samples?: readonly string[];
  /** Time that running requests get when the server stops, in milliseconds. Default: 0. */
  graceMs?: number;
  log: Logger;
}

export interface RunningApi {
  /** URL of the address it listens on. */
  url: string;
  server: FastifyInstance;
  context: ApiContext;
  stop(): Promise<void>;
}

export async function startApi(options: ApiOptions): Promise<RunningApi> {
  const { databaseUrl, pipelines, settings, sources = [], samples = [], log } = options;
  checkAddress(settings);
  const connections = {
    url: databaseUrl,
    applicationName: 'rowmill api',
    deadlineMs: settings.databaseDeadlineMs,
    onError: (error: Error) => log.warn({ error: error.message }, 'database connection failed'),
  };
  const forReads = Math.floor(settings.apiConnections / 2);
  const db = new Database({
    ...connections,
    maxConnections: Math.max(2, settings.apiConnections - forReads),
  });
  const reads = new Database({ ...connections, maxConnections: forReads, keyedAccess: true });
  const engine = { db, blobs: openBlobStore(settings.blobStore), events: new Events(), settings };
  const stopLog = logEvents(engine.events, log);
  const traces = startTraces(settings, engine.events, 'rowmill-server', log);
  const slices = openConnections(databaseUrl, engine, log, engine);
  const notifier = new WorkNotifier(db);
  const metrics = createApiMetrics(engine, reads);
  const streams = new EventHub(engine, (error) =>
    log.warn({ error: (error as Error).message }, 'reading job events failed'),
  );
  const context: ApiContext = {
    engine,
    reads,
    cursors: new CursorSignature(reads),
    pipelines,
    notifier,
    slices,
    metrics,
    streams,
    sources,
    samples,
    reload: null,
    background: new BackgroundWork(log, BACKGROUND_AT_ONCE),
    slots: {
      uploads: new Slots(),
      checks: new Slots(),
      exports: new Slots(),
      slices: new Slots(),
      webhookTests: new Slots(),
      images: new Slots(),
    },
    log,
  };
  const services: { start(): void; stop(): Promise<void> }[] = [];
  const server = await createServer(context, { graceMs: options.graceMs ?? 0 });
  const close = async (): Promise<void> => {
    await Promise.all([streams, ...services].map((each) => each.stop()));
    await server.close();
    await context.background.stop();
    metrics.stop();
    await Promise.all([slices.claims.db, slices.flushes.db, reads, db].map((each) => each.close()));
    await engine.blobs.close();
    await traces?.stop();
    stopLog();
  };
  try {
    services.push(
      new WebhookSender(engine),
      createEventPruner(engine, { deliveries: true }),
      new ApiServices(context),
    );
    const url = await server.listen({ host: settings.apiHost, port: settings.apiPort });
    warnOfPlainHttp(settings, log);
    warnOfOpenSources(settings, sources, log);
    await whenDatabaseAnswers(() => offerFirstAccount(context, url), {
      waitMs: settings.databaseStartWaitMs,
      onWait: logDatabaseWait(log),
    });
    for (const service of services) service.start();
    return { url, server, context, stop: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Without accounts the server may only be reachable from this machine. */
function checkAddress({ authentication, apiHost }: Settings): void {
  if (authentication !== 'password' && authentication !== 'none')
    throw new RowmillError(
      'SETTINGS_INVALID',
      `expected authentication to be password or none, got ${authentication}`,
    );
  if (authentication === 'none' && !['127.0.0.1', '::1', 'localhost'].includes(apiHost))
    throw new RowmillError(
      'API_ADDRESS_REFUSED',
      `expected a loopback address without accounts, got ${apiHost}`,
    );
}

/** Passwords and session tokens could be intercepted. */
function warnOfPlainHttp({ authentication, apiPublicUrl }: Settings, log: Logger): void {
  const { protocol, hostname } = new URL(apiPublicUrl);
  const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  if (authentication === 'password' && protocol === 'http:' && !isHere)
    log.warn(
      { url: apiPublicUrl },
      'sign-in uses plain http: serve the page over https and set apiPublicUrl',
    );
}

/** Members might wonder why they do not see these sources. */
function warnOfOpenSources(
  { authentication }: Settings,
  sources: readonly SourceConfig[],
  log: Logger,
): void {
  const open = sources.filter(({ owner }) => owner === undefined).map(({ name }) => name);
  if (authentication === 'password' && open.length > 0)
    log.warn({ sources: open }, 'sources without an owner are visible to administrators only');
}

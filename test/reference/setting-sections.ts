// Sections of docs/configuration.md: which settings each one lists, in order, with their units.
import type { SettingKey } from '../../src/platform/settings.ts';

/** The unit of a number; null if its values need none. A setting whose value is text has `text`. */
type Units = Partial<Record<SettingKey, string | null>>;

export interface SettingSection {
  heading: string;
  /** Shown above the settings. */
  intro?: string;
  settings: Units;
}

/** The settings that people change most. */
const FIRST: Units = {
  blobStore: 'text',
  itemTimeoutMs: 'ms',
  maxAttemptsError: 'calls',
  drainMs: 'ms',
  uploadMaxBytes: 'bytes',
  apiHost: 'text',
  apiPort: 'port',
  apiPublicUrl: 'text',
  apiTrustedProxies: 'proxies',
  authentication: 'text',
};

const INGEST_INTRO = `Ingest batches start at \`ingestMinRows\` and double while the database stays within \`dbP50Ms\` and
\`dbP95Ms\`, up to \`ingestMaxRows\` and \`ingestMaxBatchBytes\`. If commits are slow or no connection is free, half the size
is tried for a few batches. It is kept if a row then costs 15 % less; on a machine where everything is slow it does not,
so the size stays. Errors, and batches that take a quarter of \`ingestLeaseMs\` or \`databaseDeadlineMs\`, shrink the batches
immediately.`;

const WORKERS: readonly SettingSection[] = [
  {
    heading: 'Claims',
    settings: {
      claimMin: 'rows',
      claimMax: 'rows',
      claimConcurrency: 'claims',
      claimMaxBytes: 'bytes',
      workerTargetSliceMs: 'ms',
      safetyFactor: null,
      pollMinMs: 'ms',
      pollMaxMs: 'ms',
    },
  },
  {
    heading: 'Leases and heartbeats',
    settings: {
      lockFloorMs: 'ms',
      lockCapMs: 'ms',
      watchdogMs: 'ms',
      heartbeatMs: 'ms',
      sweepMs: 'ms',
      controlLookMs: 'ms',
    },
  },
  {
    heading: 'Handler calls',
    settings: {
      maxAttemptsNotFound: 'calls',
      resultMaxBytes: 'bytes',
      zombieHandlersMax: 'handlers',
      sliceMaxMs: 'ms',
      sliceGraceMs: 'ms',
      emitMaxDepth: 'levels',
      emitMaxItems: 'rows',
      emitMaxPerItem: 'rows',
      logMaxLines: 'lines',
      logMaxBytes: 'bytes',
      reprocessMaxAttempts: 'attempts',
      reprocessWaitMs: 'ms',
    },
  },
  {
    heading: 'Flushes',
    settings: {
      flushMaxItems: 'outcomes',
      flushMaxBytes: 'bytes',
      flushMaxDelayMs: 'ms',
      flushConcurrency: 'flushes',
      flushBacklogItems: 'outcomes',
    },
  },
  {
    heading: 'Adaptive load',
    settings: {
      pressureFlushMs: 'ms',
      pressurePoolWaitMs: 'ms',
      pressureLoopDelayMs: 'ms',
      pressureMemory: null,
    },
  },
  {
    heading: 'Resources',
    settings: {
      resourceSyncMs: 'ms',
      resourceLeaseMs: 'ms',
      resourceRunToOpen: 'failures',
      resourceFirstConcurrency: 'calls',
      resourceMaxConcurrency: 'calls',
      resourceKeepMs: 'ms',
    },
  },
];

const FILES: readonly SettingSection[] = [
  {
    heading: 'Ingest',
    intro: INGEST_INTRO,
    settings: {
      ingestMinRows: 'rows',
      ingestMaxRows: 'rows',
      ingestMaxBatchBytes: 'bytes',
      dbP50Ms: 'ms',
      dbP95Ms: 'ms',
      ingestLeaseMs: 'ms',
      ingestMaxRejectedRows: 'rows',
      jobMaxTakeovers: 'processes',
    },
  },
  {
    heading: 'Limits of input files',
    settings: {
      ingestMaxColumns: 'columns',
      ingestMaxCellBytes: 'bytes',
      ingestMaxRowBytes: 'bytes',
      inflateMaxBytes: 'bytes',
      inflateMaxRatio: 'times',
      archiveMaxEntries: 'entries',
      fileBusyMs: 'ms',
      xlsxMemoryMb: 'megabytes',
      imageMaxBytes: 'bytes',
      imageMaxPixels: 'pixels',
    },
  },
  {
    heading: 'Watched sources',
    settings: { sourcePollMs: 'ms', sourceStableMs: 'ms', sourceMaxFiles: 'files' },
  },
  {
    heading: 'Results and output files',
    settings: {
      resultMaxColumns: 'columns',
      exportPageRows: 'rows',
      finalizeLeaseMs: 'ms',
      finalizeRetryMaxMs: 'ms',
      blobLeftoverMs: 'ms',
    },
  },
  {
    heading: 'Traces',
    settings: { otelExporterOtlpEndpoint: 'text', otelTracesSamplerArg: null },
  },
  {
    heading: 'Database',
    settings: { databaseDeadlineMs: 'ms', databaseStartWaitMs: 'ms', foldAfterMs: 'ms' },
  },
];

const SERVER: readonly SettingSection[] = [
  {
    heading: 'Server: connections and requests',
    settings: {
      corsOrigins: 'text',
      apiConnections: 'connections',
      apiSocketsAtOnce: 'connections',
      apiSocketsAtOnceAddress: 'connections',
      apiRequestsPerSecond: 'requests',
      apiRequestBurst: 'requests',
      apiBodyMaxBytes: 'bytes',
      apiItemsMaxBytes: 'bytes',
      apiAccountMaxBytes: 'bytes',
      apiHeldBytes: 'bytes',
      apiAddressHeldBytes: 'bytes',
      apiHeaderMs: 'ms',
      apiBodyMs: 'ms',
      apiAccountBodyMs: 'ms',
      apiIdleMs: 'ms',
      apiSlowMs: 'ms',
      metricsCacheMs: 'ms',
    },
  },
  {
    heading: 'Server: uploads, exports, slices and streams',
    settings: {
      uploadsAtOnce: 'uploads',
      uploadKeepMs: 'ms',
      exportsAtOnce: 'exports',
      exportKeepMs: 'ms',
      slicesAtOnce: 'slices',
      streamsAtOnce: 'streams',
      streamHeartbeatMs: 'ms',
      streamProgressMs: 'ms',
      pendingDashboard: 'text',
    },
  },
  {
    heading: 'Server: quotas and retention',
    settings: {
      ownerMaxOpenJobs: 'jobs',
      ownerMaxStoredBytes: 'bytes',
      ownerMaxUploads: 'uploads',
      ownerMaxWebhooks: 'webhooks',
      userMaxKeys: 'keys',
      userMaxIdempotencyKeys: 'keys',
      idempotencyKeepMs: 'ms',
      eventKeepMs: 'ms',
      jobKeepDays: 'days',
      jobRetentionMinMs: 'ms',
    },
  },
  {
    heading: 'Server: accounts and sessions',
    settings: {
      sessionIdleMs: 'ms',
      sessionMaxMs: 'ms',
      confirmMs: 'ms',
      signInsPerMinute: 'attempts',
      signInsPerMinuteAddress: 'attempts',
      setupTokenMs: 'ms',
    },
  },
  {
    heading: 'Server: webhooks',
    settings: {
      secretKey: 'text',
      webhookAllow: 'text',
      webhookTimeoutMs: 'ms',
      webhookMaxAttempts: 'attempts',
      webhooksAtOnce: 'deliveries',
    },
  },
  {
    heading: 'Server: alerts and mail',
    settings: {
      jobStuckMs: 'ms',
      smtpHost: 'text',
      smtpPort: 'port',
      smtpUser: 'text',
      smtpPassword: 'text',
      smtpFrom: 'text',
      smtpTls: 'text',
    },
  },
];

export const SETTING_SECTIONS: readonly SettingSection[] = [
  { heading: 'Settings people change most', settings: FIRST },
  ...WORKERS,
  ...FILES,
  ...SERVER,
];

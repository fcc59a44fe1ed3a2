// Settings of the HTTP server. setting-table.ts includes them.

export interface NumberSetting {
  default: number;
  min: number;
  max: number;
  why: string;
}

export const SERVER_NUMBERS = {
  apiPort: { default: 4180, min: 0, max: 65_535, why: 'Port of the server. 0 picks any free port.' },
  apiBodyMaxBytes: {
    default: 1_048_576,
    min: 1024,
    max: 268_435_456,
    why: 'Largest JSON body. Files are limited by `uploadMaxBytes`.',
  },
  apiItemsMaxBytes: {
    default: 33_554_432,
    min: 1024,
    max: 268_435_456,
    why: 'Largest JSON body with rows.',
  },
  apiAccountMaxBytes: {
    default: 8192,
    min: 1024,
    max: 1_048_576,
    why: 'Largest body of an account request, such as signing in. Unauthenticated callers can send these, so the limit is low.',
  },
  apiHeldBytes: {
    default: 268_435_456,
    min: 65_536,
    max: 68_719_476_736,
    why: 'Maximum total size of request bodies in memory, without files; at least `apiItemsMaxBytes`.',
  },
  apiAddressHeldBytes: {
    default: 134_217_728,
    min: 65_536,
    max: 68_719_476_736,
    why: 'Maximum total size of request bodies from one address in memory, without files; at least `apiItemsMaxBytes`.',
  },
  apiSocketsAtOnce: {
    default: 1024,
    min: 1,
    max: 100_000,
    why: 'Maximum number of open client connections.',
  },
  apiSocketsAtOnceAddress: {
    default: 256,
    min: 1,
    max: 100_000,
    why: 'Maximum number of open connections from one address. Not enforced behind a proxy (`apiTrustedProxies`).',
  },
  apiHeaderMs: {
    default: 15_000,
    min: 100,
    max: 600_000,
    why: 'Time a client has to send the headers of a request.',
  },
  apiBodyMs: {
    default: 300_000,
    min: 100,
    max: 86_400_000,
    why: 'Time a client has to send the whole body of a request, except for uploads.',
  },
  apiAccountBodyMs: {
    default: 10_000,
    min: 100,
    max: 600_000,
    why: 'Time a client has to send the whole body of an account request.',
  },
  apiIdleMs: {
    default: 30_000,
    min: 100,
    max: 3_600_000,
    why: 'An upload is aborted if no byte arrives for this long, and a response if the client reads none.',
  },
  apiSlowMs: {
    default: 1000,
    min: 1,
    max: 3_600_000,
    why: 'A request that takes this long is logged. For a list the line includes the cursors of its page.',
  },
  metricsCacheMs: {
    default: 30_000,
    min: 0,
    max: 3_600_000,
    why: 'How long `/metrics` of the server caches numbers read from the database.',
  },
  apiRequestsPerSecond: {
    default: 50,
    min: 1,
    max: 100_000,
    why: 'Average requests per second that one caller may send.',
  },
  apiRequestBurst: {
    default: 200,
    min: 1,
    max: 1_000_000,
    why: 'Requests that one caller may send in a burst before the rate limit applies.',
  },
  apiConnections: { default: 10, min: 2, max: 200, why: 'Database connections of the server.' },
  apiTrustedProxies: {
    default: 0,
    min: 0,
    max: 10,
    why: 'Number of proxies in front of the server whose X-Forwarded-For header is trusted.',
  },
  uploadsAtOnce: {
    default: 4,
    min: 1,
    max: 1000,
    why: 'Maximum number of concurrent uploads of one caller. A JSON body over `apiBodyMaxBytes` counts as an upload.',
  },
  uploadKeepMs: {
    default: 86_400_000,
    min: 60_000,
    max: 2_592_000_000,
    why: 'How long an upload in parts is kept after it starts, complete or not.',
  },
  exportsAtOnce: {
    default: 2,
    min: 1,
    max: 100,
    why: 'Maximum number of concurrent exports of one owner per process, and of background exports per process.',
  },
  exportKeepMs: {
    default: 86_400_000,
    min: 60_000,
    max: 31_536_000_000,
    why: 'How long a prepared export is kept.',
  },
  slicesAtOnce: {
    default: 2,
    min: 1,
    max: 100,
    why: 'Maximum number of time slices that the server runs in parallel.',
  },
  streamsAtOnce: {
    default: 20,
    min: 1,
    max: 10_000,
    why: 'Maximum number of open event streams of one caller.',
  },
  streamHeartbeatMs: {
    default: 3000,
    min: 100,
    max: 600_000,
    why: 'Interval of the heartbeat in event streams. A client that misses two heartbeats treats the server as disconnected.',
  },
  streamProgressMs: {
    default: 500,
    min: 50,
    max: 60_000,
    why: 'How often progress is read while a client is watching.',
  },
  ownerMaxOpenJobs: {
    default: 1000,
    min: 1,
    max: 1_000_000,
    why: 'Maximum number of unfinished jobs of one owner.',
  },
  ownerMaxStoredBytes: {
    default: 1_000_000_000_000,
    min: 1_000_000,
    max: 1_000_000_000_000_000,
    why: "Maximum total size of the uploads of one owner's jobs.",
  },
  ownerMaxUploads: {
    default: 20,
    min: 1,
    max: 10_000,
    why: 'Maximum number of incomplete uploads in parts of one owner.',
  },
  userMaxKeys: { default: 50, min: 1, max: 100_000, why: 'Maximum number of valid API keys of one account.' },
  ownerMaxWebhooks: { default: 20, min: 1, max: 10_000, why: 'Maximum number of webhooks of one owner.' },
  jobKeepDays: {
    default: 0,
    min: 0,
    max: 36_500,
    why: 'A finished job is deleted this many days after it finished, unless the job, its owner or its pipeline has a rule. 0 keeps it for ever.',
  },
  jobRetentionMinMs: {
    default: 0,
    min: 0,
    max: 31_536_000_000,
    why: 'A job cannot be deleted until this long after it finished.',
  },
  eventKeepMs: {
    default: 604_800_000,
    min: 60_000,
    max: 31_536_000_000,
    why: 'How long job events are kept for reconnecting streams, and webhook deliveries for the delivery log.',
  },
  idempotencyKeepMs: {
    default: 86_400_000,
    min: 60_000,
    max: 2_592_000_000,
    why: 'How long an idempotency key and the response to its request are kept.',
  },
  userMaxIdempotencyKeys: {
    default: 50_000,
    min: 1,
    max: 10_000_000,
    why: 'Maximum number of idempotency keys of one account that are kept at once.',
  },
  sessionIdleMs: {
    default: 43_200_000,
    min: 60_000,
    max: 31_536_000_000,
    why: 'A session expires if it is not used for this long.',
  },
  sessionMaxMs: {
    default: 604_800_000,
    min: 60_000,
    max: 31_536_000_000,
    why: 'A session expires after this long, even if it is used.',
  },
  confirmMs: {
    default: 600_000,
    min: 1000,
    max: 86_400_000,
    why: 'How long a confirmed password allows actions that require confirmation.',
  },
  signInsPerMinute: {
    default: 5,
    min: 1,
    max: 1000,
    why: 'Failed sign-in attempts per minute for one account.',
  },
  signInsPerMinuteAddress: {
    default: 30,
    min: 1,
    max: 10_000,
    why: 'Failed sign-in attempts per minute from one address.',
  },
  setupTokenMs: {
    default: 86_400_000,
    min: 60_000,
    max: 604_800_000,
    why: 'How long the setup token of the first start is valid.',
  },
  webhookTimeoutMs: { default: 15_000, min: 100, max: 120_000, why: 'Timeout of one webhook delivery.' },
  webhookMaxAttempts: {
    default: 20,
    min: 1,
    max: 100,
    why: 'Maximum number of attempts to deliver a message, spread over about three days.',
  },
  webhooksAtOnce: {
    default: 8,
    min: 1,
    max: 200,
    why: 'Maximum number of concurrent deliveries of a process, at most two of them to one host.',
  },
  smtpPort: { default: 587, min: 1, max: 65_535, why: 'Port of the SMTP server.' },
  jobStuckMs: {
    default: 900_000,
    min: 60_000,
    max: 86_400_000,
    why: 'A job is reported as stuck when no row has finished for this long, although rows could run and a worker is online.',
  },
} as const satisfies Record<string, NumberSetting>;

export const SERVER_TEXTS = {
  apiHost: { default: '127.0.0.1', why: 'Address that the server binds to.' },
  apiPublicUrl: {
    default: 'http://localhost:4180',
    why: 'URL at which browsers reach the server. Its path prefixes all routes.',
  },
  authentication: {
    default: 'password',
    why: 'How callers authenticate: `password` (accounts), or `none` (open to anyone; allowed only on a loopback address).',
  },
  corsOrigins: { default: 'none', why: 'Other sites whose pages may call the API, separated by commas.' },
  webhookAllow: {
    default: 'none',
    why: 'Private address ranges that webhooks may reach, such as `10.1.0.0/16`, separated by commas.',
  },
  pendingDashboard: {
    default: 'off',
    why: 'Whether to list unfinished rows across all jobs: `on` or `off`.',
  },
  secretKey: {
    default: 'generated',
    why: 'Key that encrypts webhook secrets: 32 bytes as base64, then older keys, separated by commas. `generated` creates a key in the blob store; `none` stores secrets unencrypted.',
  },
  smtpHost: { default: 'none', why: 'SMTP server that sends alerts by mail. `none`: no mail is sent.' },
  smtpFrom: { default: 'none', why: 'Sender of mail, such as `Rowmill <rowmill@example.org>`.' },
  smtpUser: { default: 'none', why: 'User name at the SMTP server. `none` sends without signing in.' },
  smtpPassword: { default: 'none', why: 'Password at the SMTP server. Set it in the environment.' },
  smtpTls: {
    default: 'starttls',
    why: 'Encryption of mail on its way: `starttls` (port 587), `tls` (port 465) or `none`.',
  },
} as const satisfies Record<string, { default: string; why: string }>;

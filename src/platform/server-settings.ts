// Settings of the HTTP server; part of setting-table.ts.

export interface NumberSetting {
  default: number;
  min: number;
  max: number;
  why: string;
}

export const SERVER_NUMBERS = {
  apiPort: { default: 4180, min: 0, max: 65_535, why: 'Port of the server; 0: any that is free.' },
  apiBodyMaxBytes: {
    default: 1_048_576,
    min: 1024,
    max: 268_435_456,
    why: 'Largest JSON body; files are bounded by uploadMaxBytes.',
  },
  apiItemsMaxBytes: {
    default: 33_554_432,
    min: 1024,
    max: 268_435_456,
    why: 'Largest JSON body with items.',
  },
  apiAccountMaxBytes: {
    default: 8192,
    min: 1024,
    max: 1_048_576,
    why: 'Largest body of a request about accounts, such as signing in: nobody has to be signed in to send one.',
  },
  apiHeldBytes: {
    default: 268_435_456,
    min: 65_536,
    max: 68_719_476_736,
    why: 'Bytes of request bodies in memory at once, files apart; never less than apiItemsMaxBytes.',
  },
  apiAddressHeldBytes: {
    default: 134_217_728,
    min: 65_536,
    max: 68_719_476_736,
    why: 'Bytes of request bodies from one address in memory at once, files apart; never less than apiItemsMaxBytes.',
  },
  apiSocketsAtOnce: { default: 1024, min: 1, max: 100_000, why: 'Connections of clients at once.' },
  apiSocketsAtOnceAddress: {
    default: 256,
    min: 1,
    max: 100_000,
    why: 'Connections from one address at once; not counted behind a proxy (apiTrustedProxies).',
  },
  apiHeaderMs: { default: 15_000, min: 100, max: 600_000, why: 'Time for the headers of a request.' },
  apiBodyMs: {
    default: 300_000,
    min: 100,
    max: 86_400_000,
    why: 'Time for the whole body of a request that is no upload.',
  },
  apiAccountBodyMs: {
    default: 10_000,
    min: 100,
    max: 600_000,
    why: 'Time for the whole body of a request about accounts.',
  },
  apiIdleMs: {
    default: 30_000,
    min: 100,
    max: 3_600_000,
    why: 'An upload without a byte for this long is given up, and a reader who takes none.',
  },
  apiSlowMs: {
    default: 1000,
    min: 1,
    max: 3_600_000,
    why: 'A request that takes this long is logged, with where its list began and ended.',
  },
  metricsCacheMs: {
    default: 30_000,
    min: 0,
    max: 3_600_000,
    why: 'How long `/metrics` of the server repeats the numbers of the database before it counts again.',
  },
  apiRequestsPerSecond: {
    default: 50,
    min: 1,
    max: 100_000,
    why: 'Requests of one caller per second, on average.',
  },
  apiRequestBurst: {
    default: 200,
    min: 1,
    max: 1_000_000,
    why: 'Requests of one caller at once before the rate counts.',
  },
  apiConnections: { default: 10, min: 2, max: 200, why: 'Database connections of the server.' },
  apiTrustedProxies: {
    default: 0,
    min: 0,
    max: 10,
    why: 'Proxies in front of the server whose X-Forwarded-For is believed.',
  },
  uploadsAtOnce: {
    default: 4,
    min: 1,
    max: 1000,
    why: 'Uploads of one caller at once; a JSON body over apiBodyMaxBytes is one.',
  },
  uploadKeepMs: {
    default: 86_400_000,
    min: 60_000,
    max: 2_592_000_000,
    why: 'How long an upload in parts is kept from its beginning, finished or not.',
  },
  exportsAtOnce: {
    default: 2,
    min: 1,
    max: 100,
    why: 'Exports of one owner at once in a process, and background exports at once in a process.',
  },
  exportKeepMs: {
    default: 86_400_000,
    min: 60_000,
    max: 31_536_000_000,
    why: 'How long a prepared export is kept.',
  },
  kickoffsAtOnce: { default: 2, min: 1, max: 100, why: 'Time slices that run in the server at once.' },
  streamsAtOnce: { default: 20, min: 1, max: 10_000, why: 'Event streams of one caller at once.' },
  streamHeartbeatMs: {
    default: 3000,
    min: 100,
    max: 600_000,
    why: 'An event stream gets a sign of life this often; without two of them a client takes the server for gone.',
  },
  streamProgressMs: {
    default: 500,
    min: 50,
    max: 60_000,
    why: 'Progress is read this often while somebody looks.',
  },
  ownerMaxOpenJobs: { default: 1000, min: 1, max: 1_000_000, why: 'Unfinished jobs of one owner.' },
  ownerMaxStoredBytes: {
    default: 1_000_000_000_000,
    min: 1_000_000,
    max: 1_000_000_000_000_000,
    why: "Uploaded bytes of one owner's jobs.",
  },
  ownerMaxUploads: { default: 20, min: 1, max: 10_000, why: 'Unfinished uploads in parts of one owner.' },
  userMaxKeys: { default: 50, min: 1, max: 100_000, why: 'Valid API keys of one account.' },
  ownerMaxWebhooks: { default: 20, min: 1, max: 10_000, why: 'Webhooks of one owner.' },
  jobRetentionMinMs: {
    default: 0,
    min: 0,
    max: 31_536_000_000,
    why: 'A finished job can be removed this long after it ended.',
  },
  eventKeepMs: {
    default: 604_800_000,
    min: 60_000,
    max: 31_536_000_000,
    why: 'How long events of jobs are kept for streams that come back, and deliveries for the log.',
  },
  idempotencyKeepMs: {
    default: 86_400_000,
    min: 60_000,
    max: 2_592_000_000,
    why: 'How long an idempotency key and the answer of its request are kept.',
  },
  userMaxIdempotencyKeys: {
    default: 50_000,
    min: 1,
    max: 10_000_000,
    why: 'Idempotency keys of one account that are kept at once.',
  },
  sessionIdleMs: {
    default: 43_200_000,
    min: 60_000,
    max: 31_536_000_000,
    why: 'A session that was not used for this long has ended.',
  },
  sessionMaxMs: {
    default: 604_800_000,
    min: 60_000,
    max: 31_536_000_000,
    why: 'A session ends after this, however much it is used.',
  },
  confirmMs: {
    default: 600_000,
    min: 1000,
    max: 86_400_000,
    why: 'How long a given password allows what needs it again.',
  },
  signInsPerMinute: {
    default: 5,
    min: 1,
    max: 1000,
    why: 'Failed attempts to sign in to one account per minute.',
  },
  signInsPerMinuteAddress: {
    default: 30,
    min: 1,
    max: 10_000,
    why: 'Failed attempts to sign in from one address per minute.',
  },
  setupTokenMs: {
    default: 86_400_000,
    min: 60_000,
    max: 604_800_000,
    why: 'How long the token of the first run is valid.',
  },
  webhookTimeoutMs: { default: 15_000, min: 100, max: 120_000, why: 'Time for one delivery.' },
  webhookMaxAttempts: {
    default: 20,
    min: 1,
    max: 100,
    why: 'Attempts to deliver a message, over about three days.',
  },
  webhooksAtOnce: {
    default: 8,
    min: 1,
    max: 200,
    why: 'Deliveries under way at once in a process, two of them to one host.',
  },
} as const satisfies Record<string, NumberSetting>;

export const SERVER_TEXTS = {
  apiHost: { default: '127.0.0.1', why: 'Address that the server binds to.' },
  apiPublicUrl: {
    default: 'http://localhost:4180',
    why: 'Address under which browsers reach the server; its path is the path in front of all others.',
  },
  authentication: {
    default: 'password',
    why: 'Who may use the server: `password` (accounts), or `none` (anybody; only on a loopback address).',
  },
  corsOrigins: { default: 'none', why: 'Other sites whose pages may use the API, separated by commas.' },
  webhookAllow: {
    default: 'none',
    why: 'Address ranges that webhooks may reach although they are private, such as 10.1.0.0/16, separated by commas.',
  },
  pendingDashboard: {
    default: 'off',
    why: 'Whether there is a list of what is not done over all jobs: `on` or `off`.',
  },
  secretKey: {
    default: 'generated',
    why: 'Key that secrets of webhooks are encrypted with: 32 bytes as base64, older ones behind commas; `generated` or `none`.',
  },
} as const satisfies Record<string, { default: string; why: string }>;

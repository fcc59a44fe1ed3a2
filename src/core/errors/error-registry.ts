// Every error a person can meet, with its HTTP status and what to do about it.
// docs/errors.md lists the same codes; a test keeps the two equal.

export interface RegisteredError {
  status: number;
  hint: string;
  /** The hint over HTTP, where `hint` names a command or an option of the command line. */
  apiHint?: string;
  /** The same request may be answered otherwise after this time. */
  retryAfterMs?: number;
}

export const ERROR_REGISTRY = {
  SETTINGS_INVALID: {
    status: 500,
    hint: 'Correct the setting; docs/configuration.md lists all of them with their defaults.',
  },
  DATABASE_UNREACHABLE: {
    status: 503,
    hint: 'Check DATABASE_URL and that the server is running, or unset DATABASE_URL to use the embedded PostgreSQL.',
    retryAfterMs: 5000,
  },
  DATABASE_TOO_OLD: { status: 500, hint: 'Rowmill needs PostgreSQL 15 or newer.' },
  DATABASE_NOT_MIGRATED: {
    status: 503,
    hint: 'Run `rowmill migrate`.',
    apiHint: 'An administrator has to migrate the database; docs/operating.md describes it.',
  },
  DATABASE_NEWER: {
    status: 503,
    hint: 'A newer Rowmill has migrated this database. Upgrade this program, or use another database.',
  },
  MIGRATION_CHANGED: {
    status: 500,
    hint: 'An applied migration file was edited afterwards. Restore the file as it was released.',
  },
  MIGRATION_FAILED: { status: 500, hint: 'The migration was rolled back; the database is as it was before.' },
  PIPELINE_INVALID: { status: 500, hint: 'Correct the pipeline definition.' },
  PIPELINE_NOT_FOUND: { status: 404, hint: 'Check the name or path of the pipeline module.' },
  PROJECT_INVALID: {
    status: 400,
    hint: 'Name an empty folder that can be written: rowmill init my-project',
    apiHint: 'Name an empty folder that can be written.',
  },
  JOB_NOT_FOUND: {
    status: 404,
    hint: 'Run `rowmill status` for the list of jobs.',
    apiHint: 'GET /api/v1/jobs lists the jobs that you may see.',
  },
  JOB_NOT_INGESTING: { status: 409, hint: 'Items can be added only before the job is sealed.' },
  JOB_CONFLICT: {
    status: 409,
    hint: 'Look at the state of the job: `rowmill status`, or GET /api/v1/jobs/:jobId.',
    apiHint: 'Look at the state of the job: GET /api/v1/jobs/:jobId.',
  },
  JOB_BUSY: {
    status: 409,
    hint: 'Try again in a moment, or let the other process finish.',
    retryAfterMs: 1000,
  },
  ITEMS_DIFFER: {
    status: 409,
    hint: 'Another request appended these positions. Read `itemCount` of the job and append behind it, without `from` if the order does not matter.',
  },
  JOB_FAILED: {
    status: 409,
    hint: 'Correct the file and start a new job. If the file was read to its end, export the results.',
  },
  JOB_UNFINISHED: {
    status: 504,
    hint: 'Give it more time, or look at it with `rowmill status`.',
    apiHint: 'Give it more time, or look at it: GET /api/v1/jobs/:jobId.',
  },
  RESOURCE_INVALID: { status: 400, hint: 'docs/resources.md lists what can be set of a resource.' },
  OWNER_INVALID: { status: 400, hint: 'docs/fairness.md lists what can be set of an owner.' },
  BUDGET_INVALID: { status: 400, hint: 'docs/budgets.md says what budgets are made of.' },
  BUDGET_USED_UP: {
    status: 409,
    hint: 'Raise the budget with `setBudget` or `setOwnerBudget`, then resume the job. A budget per day starts again at midnight UTC.',
    apiHint:
      'Raise the budget of the job with PATCH /api/v1/jobs/:jobId and {"budget":{"max":…}}, then resume the job. Only an administrator can raise a budget of the owner; one per day starts again at midnight UTC.',
  },
  COUNTER_INVALID: { status: 400, hint: 'docs/counters.md says what counters are made of and fed with.' },
  COUNTER_NOT_FOUND: {
    status: 404,
    hint: 'Run `rowmill counters` for the list of counters.',
    apiHint: 'GET /api/v1/counters lists the counters.',
  },
  COUNTER_DRIFTED: {
    status: 409,
    hint: 'Run `rowmill counters check --repair`, and find out what changed the numbers.',
    apiHint: 'An administrator has to repair the counters; docs/counters.md describes it.',
  },
  NOTHING_TO_REPROCESS: {
    status: 409,
    hint: 'Choose other statuses or rows; docs/control.md says what is left out by default.',
  },
  REPROCESS_INVALID: { status: 400, hint: 'docs/control.md lists what can be asked of a reprocess.' },
  ITEM_NOT_FOUND: { status: 404, hint: 'Items are counted from 0, in the order of the file.' },
  SLICE_INVALID: {
    status: 400,
    hint: 'Give a whole number of milliseconds from 1 to the setting sliceMaxMs.',
  },
  ITEM_INVALID: { status: 400, hint: 'An item must be a JSON object that PostgreSQL can store.' },
  FILE_INVALID: {
    status: 400,
    hint: 'Correct the file and give it again; docs/files.md says what is expected.',
  },
  FILE_UNSUPPORTED: {
    status: 415,
    hint: 'Use CSV, XLSX, JSON lines, a JSON array, a list of URLs, images, or a gzip of one of them.',
  },
  FILE_TOO_LARGE: { status: 413, hint: 'Split the file, or raise the setting that the message names.' },
  FILE_STALLS_READER: {
    status: 422,
    hint: 'Look at the file, or save it again as CSV. Raise the setting that the message names if the file is as it should be.',
  },
  FILE_INCOMPLETE: {
    status: 400,
    hint: 'The file did not arrive whole. Send it again; nothing of it was stored.',
  },
  FILE_OPTION_INVALID: { status: 400, hint: 'Correct the option; docs/files.md lists them.' },
  COLUMNS_MISSING: {
    status: 400,
    hint: 'Name the columns of the file with --map field=column, or rename them in the file.',
    apiHint: 'Name the columns of the file in `mapping` ({"field": "column"}), or rename them in the file.',
  },
  BLOB_NOT_FOUND: { status: 404, hint: 'The file is no longer in the blob store. Upload it again.' },
  BLOB_STORE_INVALID: {
    status: 500,
    hint: 'Correct the setting blobStore; docs/configuration.md explains it.',
  },
  BLOB_STORE_UNAVAILABLE: {
    status: 503,
    hint: 'Check that the blob store can be reached and written; what waits for it goes on by itself.',
  },
  BLOB_CORRUPT: {
    status: 500,
    hint: 'The stored bytes are not what was written. Check the disk or the store.',
  },
  SOURCE_INVALID: {
    status: 500,
    hint: 'Correct the source in the settings file; docs/sources.md explains it.',
  },
  SOURCE_UNAVAILABLE: { status: 503, hint: 'Check address, credentials and permissions of the source.' },
  EXPORT_INVALID: { status: 400, hint: 'docs/files-export.md lists the formats and filters of exports.' },
  EXPORT_NOT_WRITTEN: {
    status: 500,
    hint: 'Make room or choose another place, and ask for it again.',
  },
  REQUEST_INVALID: {
    status: 400,
    hint: 'Correct the request; the issues say where. /api/v1/openapi.json describes it.',
  },
  UNAUTHENTICATED: { status: 401, hint: 'Sign in, or send an API key: Authorization: Bearer rmk_…' },
  FORBIDDEN: {
    status: 403,
    hint: 'Ask an administrator for a role, or use a key with the scope that the message names.',
  },
  CROSS_SITE: {
    status: 403,
    hint: 'Send the request from the page of this server, or with an API key instead of a cookie.',
  },
  CONFIRMATION_REQUIRED: { status: 403, hint: 'Give the password again: POST /api/v1/session/confirm.' },
  ROUTE_NOT_FOUND: { status: 404, hint: '/api/v1/openapi.json lists what there is.' },
  METHOD_NOT_ALLOWED: { status: 405, hint: '/api/v1/openapi.json lists what there is.' },
  MEDIA_TYPE_UNSUPPORTED: {
    status: 415,
    hint: 'Send the body with a Content-Type of the header Accept of the answer, uncompressed.',
  },
  RANGE_UNSATISFIABLE: {
    status: 416,
    hint: 'Ask for bytes that the file has; the header Content-Range of the answer has its length.',
  },
  BODY_TOO_LARGE: { status: 413, hint: 'Send less at once, or raise the setting that the message names.' },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    hint: 'Use a new idempotency key for each request; with the same key send exactly the first request.',
  },
  IDEMPOTENCY_KEY_IN_USE: {
    status: 409,
    hint: 'Try again in a moment. If it stays so, its server ended before the answer was stored: look what it did, and use a new key.',
    retryAfterMs: 1000,
  },
  TOO_MANY_IDEMPOTENCY_KEYS: {
    status: 429,
    hint: 'Send the request without a key, or wait until older keys are forgotten (idempotencyKeepMs); an administrator can raise userMaxIdempotencyKeys.',
  },
  RATE_LIMITED: { status: 429, hint: 'Wait as long as the header Retry-After says.' },
  SERVER_BUSY: {
    status: 503,
    hint: 'Wait as long as the header Retry-After says; an administrator can raise the setting that the message names.',
  },
  SERVER_STOPPING: {
    status: 503,
    hint: 'Send the request again: another server, or this one after its restart, answers it.',
    retryAfterMs: 1000,
  },
  QUOTA_EXCEEDED: {
    status: 429,
    hint: 'Wait until something has ended or remove something; an administrator can raise the setting that the message names.',
  },
  INTERNAL_ERROR: {
    status: 500,
    hint: 'Look for the request id, or for the message, in the log of the process that reported it.',
  },
  CURSOR_INVALID: { status: 400, hint: 'Start at the first page: leave `cursor` out.' },
  FEATURE_DISABLED: {
    status: 404,
    hint: 'An administrator can switch it on with the setting that the message names.',
  },
  SUMMARY_NOT_FOUND: {
    status: 404,
    hint: 'Wait until the job has finished; GET /api/v1/jobs/:jobId/generations lists its runs.',
  },
  JOB_RETAINED: { status: 409, hint: 'Wait until then, or lower the setting jobRetentionMinMs.' },
  TOO_MANY_KICKOFFS: { status: 429, hint: 'Try again when one has ended, or run workers.' },
  TOO_MANY_EXPORTS: { status: 429, hint: 'Try again when one has ended, or prepare it in the background.' },
  TOO_MANY_STREAMS: { status: 429, hint: 'Close streams that nobody looks at.' },
  FILE_NOT_FOUND: { status: 404, hint: 'GET /api/v1/jobs/:jobId/files lists its files.' },
  UPLOAD_NOT_FOUND: {
    status: 404,
    hint: 'Begin anew: POST /api/v1/uploads. Unfinished ones are kept for uploadKeepMs.',
  },
  UPLOAD_OFFSET_WRONG: { status: 409, hint: 'GET /api/v1/uploads/:uploadId says where to go on.' },
  EXPORT_NOT_READY: { status: 409, hint: 'Wait until its state is READY.' },
  SOURCE_NOT_FOUND: { status: 404, hint: 'GET /api/v1/sources lists the configured sources.' },
  SETUP_DONE: { status: 404, hint: 'Sign in; an administrator can add accounts.' },
  SETUP_TOKEN_WRONG: {
    status: 403,
    hint: 'The token is in the log of the server; a restart writes a new one.',
  },
  SIGN_IN_FAILED: { status: 401, hint: 'Check both; an administrator can set a new password.' },
  SIGN_IN_THROTTLED: { status: 429, hint: 'Wait as long as the header Retry-After says.' },
  PASSWORD_WEAK: { status: 400, hint: 'Choose a longer one that is not in lists of common passwords.' },
  ACCOUNT_CONFLICT: { status: 409, hint: 'Choose another name.' },
  ACCOUNT_NOT_FOUND: { status: 404, hint: 'GET /api/v1/users lists the accounts.' },
  TEAM_NOT_FOUND: { status: 404, hint: 'GET /api/v1/teams lists the teams.' },
  LAST_ADMIN: { status: 409, hint: 'Make somebody else an administrator first.' },
  KEY_NOT_FOUND: { status: 404, hint: 'GET /api/v1/keys lists the keys.' },
  WEBHOOK_NOT_FOUND: { status: 404, hint: 'GET /api/v1/webhooks lists them.' },
  DELIVERY_NOT_FOUND: { status: 404, hint: 'GET /api/v1/webhooks/:webhookId/deliveries lists them.' },
  WEBHOOK_URL_REFUSED: {
    status: 400,
    hint: 'Use https and a public address; an administrator can allow others with webhookAllow.',
  },
  API_ADDRESS_REFUSED: { status: 500, hint: 'Use authentication `password`, or bind to 127.0.0.1.' },
  API_UNREACHABLE: {
    status: 503,
    hint: 'Check the address, and that the server is running: rowmill login --help',
    apiHint: 'Check the address, and that the server is running.',
  },
  API_ANSWER_INVALID: {
    status: 502,
    hint: 'Check that the address is that of a Rowmill server of the same version, and what stands before it.',
  },
  EMBEDDED_POSTGRES_UNSUPPORTED_PLATFORM: {
    status: 500,
    hint: 'Set DATABASE_URL to a PostgreSQL server of your own.',
  },
  EMBEDDED_POSTGRES_BINARIES_UNUSABLE: {
    status: 500,
    hint: 'Install the packages again, or set DATABASE_URL to a PostgreSQL server of your own.',
  },
  EMBEDDED_POSTGRES_NO_SERVER_USER: {
    status: 500,
    hint: 'PostgreSQL refuses to run as root: run as an ordinary user, or set DATABASE_URL.',
  },
  EMBEDDED_POSTGRES_FOLDER_UNREACHABLE: {
    status: 500,
    hint: "Choose a folder that the server's user can enter.",
  },
  EMBEDDED_POSTGRES_FOLDER_IN_USE: {
    status: 500,
    hint: 'Stop the other process, choose another folder with --data-dir, or connect through DATABASE_URL.',
    apiHint: 'Stop the other process, or connect through DATABASE_URL.',
  },
  EMBEDDED_POSTGRES_FOLDER_INVALID: {
    status: 500,
    hint: 'Choose another folder with --data-dir.',
    apiHint: 'Choose another folder for the data.',
  },
  EMBEDDED_POSTGRES_WRONG_VERSION: {
    status: 500,
    hint: 'Start it with the version of Rowmill that made it, or move the folder away.',
  },
  EMBEDDED_POSTGRES_INVALID_SETTING: { status: 500, hint: 'Correct the PostgreSQL setting.' },
  EMBEDDED_POSTGRES_INIT_FAILED: {
    status: 500,
    hint: 'Check free space and permissions of the folder, or set DATABASE_URL.',
  },
  EMBEDDED_POSTGRES_PASSWORD_REJECTED: { status: 500, hint: 'Restore the password file of the folder.' },
  EMBEDDED_POSTGRES_START_FAILED: {
    status: 500,
    hint: 'Read the log named in the message, or set DATABASE_URL to a PostgreSQL server of your own.',
  },
  EMBEDDED_POSTGRES_STOP_FAILED: { status: 500, hint: 'Read the log named in the message.' },
} as const satisfies Record<string, RegisteredError>;

export type ErrorCode = keyof typeof ERROR_REGISTRY;

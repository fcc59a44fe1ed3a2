// Every error that Rowmill reports, with its HTTP status and what to do about it. `npm run docs:reference` writes
// docs/errors.md from this table. The client bundles it, so meanings are in test/reference/error-meanings.ts.

export interface RegisteredError {
  status: number;
  hint: string;
  /** Replaces `hint` over HTTP if `hint` names a CLI command or option. */
  apiHint?: string;
  /** The same request may succeed after this time. Omit it if a retry cannot help. */
  retryAfterMs?: number;
}

export const ERROR_REGISTRY = {
  SETTINGS_INVALID: {
    status: 500,
    hint: 'Correct the setting. See docs/configuration.md for all settings and their defaults.',
  },
  DATABASE_UNREACHABLE: {
    status: 503,
    hint: 'Check DATABASE_URL and that PostgreSQL is running, or unset DATABASE_URL to use the embedded PostgreSQL.',
    retryAfterMs: 5000,
  },
  DATABASE_FORBIDDEN: {
    status: 503,
    hint: 'Run `rowmill migrate`, then `rowmill grant`, as the owner of the tables. See docs/accounts.md.',
    apiHint: 'Ask an administrator to grant the database login its privileges. See docs/accounts.md.',
  },
  DATABASE_TOO_OLD: { status: 500, hint: 'Upgrade to PostgreSQL 15 or newer.' },
  DATABASE_NOT_MIGRATED: {
    status: 503,
    hint: 'Run `rowmill migrate`.',
    apiHint: 'Ask an administrator to migrate the database. See docs/operating.md.',
  },
  DATABASE_NEWER: {
    status: 503,
    hint: 'Upgrade Rowmill to the version that migrated this database, or use another database.',
  },
  MIGRATION_CHANGED: {
    status: 500,
    hint: 'Restore the migration file as it was released.',
  },
  MIGRATION_FAILED: {
    status: 500,
    hint: 'Fix the cause named in the message and migrate again. The migration was rolled back, so the database is unchanged.',
  },
  PIPELINE_INVALID: { status: 500, hint: 'Correct the pipeline definition. See docs/writing-pipelines.md.' },
  PIPELINE_NOT_FOUND: { status: 404, hint: 'Check the name or path of the pipeline module.' },
  PROJECT_INVALID: {
    status: 400,
    hint: 'Name an empty, writable folder: rowmill init my-project',
    apiHint: 'Name an empty, writable folder.',
  },
  JOB_NOT_FOUND: {
    status: 404,
    hint: 'Run `rowmill jobs list` to list the jobs.',
    apiHint: 'List the jobs you can see with GET /api/v1/jobs.',
  },
  USAGE_INVALID: {
    status: 400,
    hint: 'Add --help to see the arguments and options of the command.',
    apiHint: 'See docs/http-api.md.',
  },
  NOT_CONFIRMED: {
    status: 400,
    hint: 'Add --yes to confirm without a question.',
    apiHint: 'Confirm the change.',
  },
  JOB_NOT_INGESTING: {
    status: 409,
    hint: 'Create a new job for more rows. Rows can be added only until a job is sealed.',
  },
  JOB_CONFLICT: {
    status: 409,
    hint: 'Check the state of the job with `rowmill jobs show` or GET /api/v1/jobs/:jobId.',
    apiHint: 'Check the state of the job with GET /api/v1/jobs/:jobId.',
  },
  JOB_BUSY: {
    status: 409,
    hint: 'Try again in a moment, or wait for the other process to finish.',
    retryAfterMs: 1000,
  },
  ITEMS_DIFFER: {
    status: 409,
    hint: 'Another request already appended rows there. Read `itemCount` of the job and append from that position, or omit `from` if the order does not matter.',
  },
  JOB_FAILED: {
    status: 409,
    hint: 'Correct the file and submit it again. If the whole file was read, export the results.',
  },
  JOB_UNFINISHED: {
    status: 504,
    hint: 'Allow more time, or check the job with `rowmill jobs show`.',
    apiHint: 'Allow more time, or check the job with GET /api/v1/jobs/:jobId.',
  },
  RESOURCE_INVALID: { status: 400, hint: 'See docs/resources.md for the limits of a resource.' },
  OWNER_INVALID: { status: 400, hint: 'See docs/fairness.md for the weights and limits of an owner.' },
  BUDGET_INVALID: { status: 400, hint: 'See docs/budgets.md for the budget format.' },
  BUDGET_USED_UP: {
    status: 409,
    hint: 'Raise the budget with `setBudget` or `setOwnerBudget`, then resume the job. A daily budget resets at midnight UTC.',
    apiHint:
      'Raise the budget of the job with PATCH /api/v1/jobs/:jobId and {"budget":{"max":…}}, then resume the job. Only an administrator can raise the budget of an owner. A daily budget resets at midnight UTC.',
  },
  COUNTER_INVALID: { status: 400, hint: 'See docs/counters.md for counter definitions and `context.count`.' },
  COUNTER_NOT_FOUND: {
    status: 404,
    hint: 'Run `rowmill counters` to list the counters.',
    apiHint: 'List the counters with GET /api/v1/counters.',
  },
  COUNTER_DRIFTED: {
    status: 409,
    hint: 'Run `rowmill counters check --repair`, and find out what else changed the counter.',
    apiHint: 'Ask an administrator to repair the counters. See docs/counters.md.',
  },
  NOTHING_TO_REPROCESS: {
    status: 409,
    hint: 'Add --include-permanent or --reset-attempts for the rows that were left out, or select others. See docs/control.md.',
    apiHint:
      'Set includePermanent or resetAttempts for the rows that were left out, or select others. See docs/control.md.',
  },
  REPROCESS_INVALID: { status: 400, hint: 'See docs/control.md for reprocess options.' },
  ITEM_NOT_FOUND: { status: 404, hint: 'Check the number: rows are numbered from 0, in file order.' },
  SLICE_INVALID: {
    status: 400,
    hint: 'Pass a whole number of milliseconds from 1 to the setting sliceMaxMs.',
  },
  TRY_INVALID: {
    status: 400,
    hint: 'See docs/trying-rows.md for the arguments of `rowmill try`.',
    apiHint: 'See docs/trying-rows.md.',
  },
  ITEM_INVALID: { status: 400, hint: 'Pass a JSON object that PostgreSQL can store.' },
  FILE_INVALID: {
    status: 400,
    hint: 'Correct the file and submit it again. Supported: CSV, XLSX, JSON lines, JSON arrays, lists of URLs, and images.',
  },
  FILE_UNSUPPORTED: {
    status: 415,
    hint: 'Use CSV, XLSX, JSON lines, a JSON array, a list of URLs, images, or one of these compressed with gzip.',
  },
  FILE_TOO_LARGE: { status: 413, hint: 'Split the file, or raise the setting named in the message.' },
  FILE_STALLS_READER: {
    status: 422,
    hint: 'Check the file, or save it as CSV. If the file is correct, raise the setting named in the message.',
  },
  FILE_INCOMPLETE: {
    status: 400,
    hint: 'Send the file again. None of it was stored.',
  },
  FILE_OPTION_INVALID: { status: 400, hint: 'Correct the option, or leave it out to have it detected.' },
  COLUMNS_MISSING: {
    status: 400,
    hint: 'Map the columns with --map field=column, or rename them in the file.',
    apiHint: 'Map the columns in `mapping` ({"field": "column"}), or rename them in the file.',
  },
  BLOB_NOT_FOUND: { status: 404, hint: 'Upload the file again. It is no longer in the blob store.' },
  BLOB_STORE_INVALID: {
    status: 500,
    hint: 'Correct the setting. See docs/configuration.md#blobstore.',
  },
  BLOB_STORE_UNAVAILABLE: {
    status: 503,
    hint: 'Check that the blob store is reachable and writable. Work that waits for it resumes automatically.',
  },
  BLOB_CORRUPT: {
    status: 500,
    hint: 'Check the disk or the blob store: the stored bytes differ from the bytes written.',
  },
  SOURCE_INVALID: {
    status: 500,
    hint: 'Correct the source in the settings file. See docs/sources.md.',
  },
  SOURCE_UNAVAILABLE: { status: 503, hint: 'Check the address, credentials and permissions of the source.' },
  EXPORT_INVALID: { status: 400, hint: 'See docs/files-export.md for export formats and filters.' },
  EXPORT_NOT_WRITTEN: {
    status: 500,
    hint: 'Free disk space or choose another path, then try again.',
  },
  REQUEST_INVALID: {
    status: 400,
    hint: 'Correct the fields listed in `issues`. See /api/v1/openapi.json for the request format.',
  },
  UNAUTHENTICATED: { status: 401, hint: 'Sign in, or send an API key: Authorization: Bearer rmk_…' },
  FORBIDDEN: {
    status: 403,
    hint: 'Ask an administrator for a role that allows it. For a scope, sign in again with `rowmill login --scopes`. See docs/accounts.md.',
    apiHint:
      'Ask an administrator for a role that allows it, or use a key with the scope named in the message.',
  },
  CROSS_SITE: {
    status: 403,
    hint: 'Send the request from a page of this server, or use an API key instead of a cookie.',
  },
  CONFIRMATION_REQUIRED: { status: 403, hint: 'Confirm the password with POST /api/v1/session/confirm.' },
  ROUTE_NOT_FOUND: { status: 404, hint: 'See /api/v1/openapi.json for available routes.' },
  METHOD_NOT_ALLOWED: { status: 405, hint: 'See /api/v1/openapi.json for available routes.' },
  MEDIA_TYPE_UNSUPPORTED: {
    status: 415,
    hint: 'Send the body uncompressed, with a Content-Type listed in the Accept header of the response.',
  },
  RANGE_UNSATISFIABLE: {
    status: 416,
    hint: 'Request bytes within the file. The Content-Range header of the response has its length.',
  },
  BODY_TOO_LARGE: { status: 413, hint: 'Send less at once, or raise the setting named in the message.' },
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    hint: 'Use a new idempotency key for each request. With the same key, send exactly the same request.',
  },
  IDEMPOTENCY_KEY_IN_USE: {
    status: 409,
    hint: 'Try again in a moment. If the error persists, the server stopped before it stored the response: check what the request changed, then use a new key.',
    retryAfterMs: 1000,
  },
  TOO_MANY_IDEMPOTENCY_KEYS: {
    status: 429,
    hint: 'Send the request without a key, or wait until older keys expire (idempotencyKeepMs). An administrator can raise userMaxIdempotencyKeys.',
  },
  RATE_LIMITED: { status: 429, hint: 'Wait for the time in the Retry-After header, then try again.' },
  SERVER_BUSY: {
    status: 503,
    hint: 'Wait for the time in the Retry-After header, then try again. An administrator can raise the setting named in the message.',
  },
  SERVER_STOPPING: {
    status: 503,
    hint: 'Send the request again. Another server, or this one after its restart, will answer it.',
    retryAfterMs: 1000,
  },
  QUOTA_EXCEEDED: {
    status: 429,
    hint: 'Wait for jobs or uploads to finish, or delete what you no longer need. An administrator can raise the setting named in the message.',
  },
  INTERNAL_ERROR: {
    status: 500,
    hint: 'Search the log of the process that reported it for the request id or the message.',
  },
  SORT_TOO_LARGE: {
    status: 409,
    hint: 'Filter by a status with fewer rows first, such as ERROR, or export the rows and sort the file.',
  },
  CURSOR_INVALID: { status: 400, hint: 'Start at the first page: omit `cursor`.' },
  FEATURE_DISABLED: {
    status: 404,
    hint: 'Ask an administrator to enable it with the setting named in the message.',
  },
  SUMMARY_NOT_FOUND: {
    status: 404,
    hint: 'Wait until the job finishes. List its runs with GET /api/v1/jobs/:jobId/generations.',
  },
  JOB_RETAINED: {
    status: 409,
    hint: 'Wait until that time has passed, or lower the setting jobRetentionMinMs.',
  },
  TOO_MANY_SLICES: { status: 429, hint: 'Try again when a slice finishes, or start workers.' },
  TOO_MANY_EXPORTS: {
    status: 429,
    hint: 'Try again when an export finishes, or prepare this one in the background.',
  },
  TOO_MANY_STREAMS: { status: 429, hint: 'Close event streams that are no longer needed.' },
  FILE_NOT_FOUND: {
    status: 404,
    hint: 'List the files with GET /api/v1/jobs/:jobId/files. If it is listed, give servers and workers the same blobStore.',
  },
  UPLOAD_NOT_FOUND: {
    status: 404,
    hint: 'Start a new upload with POST /api/v1/uploads. Incomplete uploads expire after uploadKeepMs.',
  },
  UPLOAD_OFFSET_WRONG: {
    status: 409,
    hint: 'Get the next offset with GET /api/v1/uploads/:uploadId and continue from there.',
  },
  EXPORT_NOT_READY: {
    status: 409,
    hint: 'Wait until the state of the export is READY. If it is FAILED, start a new export.',
  },
  SOURCE_NOT_FOUND: { status: 404, hint: 'List the configured sources with GET /api/v1/sources.' },
  SETUP_DONE: { status: 404, hint: 'Sign in. An administrator can add accounts.' },
  SETUP_TOKEN_WRONG: {
    status: 403,
    hint: 'Copy the token from the server log. A restart logs a new one.',
  },
  SIGN_IN_FAILED: {
    status: 401,
    hint: 'Check the name and the password. An administrator can set a new password.',
  },
  SIGN_IN_THROTTLED: { status: 429, hint: 'Wait for the time in the Retry-After header, then try again.' },
  PASSWORD_WEAK: { status: 400, hint: 'Choose a longer password that is not in lists of common passwords.' },
  ACCOUNT_CONFLICT: { status: 409, hint: 'Choose another name.' },
  ACCOUNT_NOT_FOUND: { status: 404, hint: 'List the accounts with GET /api/v1/users.' },
  TEAM_NOT_FOUND: { status: 404, hint: 'List the teams with GET /api/v1/teams.' },
  LAST_ADMIN: { status: 409, hint: 'Make another account an administrator first.' },
  KEY_NOT_FOUND: { status: 404, hint: 'List the API keys with GET /api/v1/keys.' },
  WORKER_NOT_FOUND: {
    status: 404,
    hint: 'It may have stopped. List the workers with GET /api/v1/workers.',
  },
  WEBHOOK_NOT_FOUND: { status: 404, hint: 'List the webhooks with GET /api/v1/webhooks.' },
  DELIVERY_NOT_FOUND: {
    status: 404,
    hint: 'List the deliveries with GET /api/v1/webhooks/:webhookId/deliveries.',
  },
  WEBHOOK_URL_REFUSED: {
    status: 400,
    hint: 'Use https and a public address. An administrator can allow private addresses with webhookAllow.',
  },
  API_ADDRESS_REFUSED: { status: 500, hint: 'Set authentication to `password`, or bind to 127.0.0.1.' },
  API_UNREACHABLE: {
    status: 503,
    hint: 'Check the URL and that the server is running. See rowmill login --help.',
    apiHint: 'Check the URL and that the server is running.',
  },
  API_ANSWER_INVALID: {
    status: 502,
    hint: 'Check that the URL points to a Rowmill server of the same version and that no proxy is answering instead.',
  },
  BACKUP_REFUSED: { status: 400, hint: 'Name a new file outside of the folders that are backed up.' },
  BACKUP_INVALID: {
    status: 400,
    hint: 'Use another backup, and check the disk or the transfer of this one.',
  },
  EMBEDDED_POSTGRES_UNSUPPORTED_PLATFORM: {
    status: 500,
    hint: 'Set DATABASE_URL to your own PostgreSQL server.',
  },
  EMBEDDED_POSTGRES_BINARIES_UNUSABLE: {
    status: 500,
    hint: 'Reinstall the packages, or set DATABASE_URL to your own PostgreSQL server.',
  },
  EMBEDDED_POSTGRES_NO_SERVER_USER: {
    status: 500,
    hint: 'Run as an ordinary user, or set DATABASE_URL. PostgreSQL refuses to run as root.',
  },
  EMBEDDED_POSTGRES_FOLDER_UNREACHABLE: {
    status: 500,
    hint: 'Choose a data folder that the PostgreSQL user can enter.',
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
    hint: 'Start it with the version of Rowmill that created it, or move the folder away.',
  },
  EMBEDDED_POSTGRES_INVALID_SETTING: { status: 500, hint: 'Correct the PostgreSQL setting.' },
  EMBEDDED_POSTGRES_INIT_FAILED: {
    status: 500,
    hint: 'Check the free space and permissions of the folder, or set DATABASE_URL.',
  },
  EMBEDDED_POSTGRES_PASSWORD_REJECTED: { status: 500, hint: 'Restore the password file in the data folder.' },
  EMBEDDED_POSTGRES_START_FAILED: {
    status: 500,
    hint: 'Read the log named in the message, or set DATABASE_URL to your own PostgreSQL server.',
  },
  EMBEDDED_POSTGRES_STOP_FAILED: { status: 500, hint: 'Read the log named in the message.' },
} as const satisfies Record<string, RegisteredError>;

export type ErrorCode = keyof typeof ERROR_REGISTRY;

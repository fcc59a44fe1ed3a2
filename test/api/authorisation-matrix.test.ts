// The authorisation matrix: the callers allowed for every route, in a table separate from the route table. A route
// without a row fails, and so do a route outside the table and an id in a path without a test. Allowed means that the
// request reached its handler, whatever that answers to an empty body.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../src/api/start-api.ts';
import type { Route } from '../../src/contract/route.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import { newId } from '../../src/platform/random.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import { addTeam, addUser, keyHeaders, sessionHeaders } from '../support/account-factory.ts';
import { registeredRoutes } from '../support/registered-routes.ts';
import { type Answered, sendRequest } from '../support/send-request.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

/** Keys with a single scope, of a member and of an administrator. */
const WEAK_KEYS = [
  'readKey',
  'writeKey',
  'exportKey',
  'adminsReadKey',
  'adminsWriteKey',
  'adminsExportKey',
] as const;
/** A session with each role, keys with a single scope, and an administrator's key with all scopes. */
const CALLERS = ['viewer', 'member', 'admin', ...WEAK_KEYS, 'adminKey'] as const;
type Caller = (typeof CALLERS)[number];
/** Callers that are never authenticated. */
const STRANGERS = ['nobody', 'disabled', 'disabledKey', 'revokedKey'] as const;

type Row = readonly Caller[] | 'everybody';
const READ: Row = ['viewer', 'member', 'admin', 'readKey', 'adminsReadKey', 'adminKey'];
const EXPORT: Row = ['viewer', 'member', 'admin', 'exportKey', 'adminsExportKey', 'adminKey'];
const WRITE: Row = ['member', 'admin', 'writeKey', 'adminsWriteKey', 'adminKey'];
const MEMBERS_READ: Row = ['member', 'admin', 'readKey', 'adminsReadKey', 'adminKey'];
/** The caller's own account: sessions, and keys with the scope admin. */
const OWN: Row = ['viewer', 'member', 'admin', 'adminKey'];
const ADMIN: Row = ['admin', 'adminKey'];
/** Any key, because the handlers restrict weak keys themselves. */
const ANY_KEY: Row = CALLERS;

const MATRIX: Record<RouteName, Row> = {
  createJob: WRITE,
  previewJob: WRITE,
  listJobs: READ,
  findJobs: READ,
  getJob: READ,
  getSummary: READ,
  changeJob: WRITE,
  deleteJob: WRITE,
  pauseJob: WRITE,
  resumeJob: WRITE,
  cancelJob: WRITE,
  sealJob: WRITE,
  appendItems: WRITE,
  sliceJob: WRITE,
  reprocessJob: WRITE,
  previewReprocess: WRITE,
  retryPending: WRITE,
  skipErrors: WRITE,
  previewErrorEdit: WRITE,
  editErrors: WRITE,
  listItems: READ,
  getItem: READ,
  getItemTrace: READ,
  listLogs: READ,
  getItemImage: READ,
  listTree: READ,
  listErrors: READ,
  getTimeline: READ,
  listGenerations: READ,
  compareRuns: READ,
  listRejected: READ,
  listPendingOfJob: READ,
  listPending: READ,
  listJobActivity: READ,
  exportJob: EXPORT,
  prepareExport: EXPORT,
  listFiles: READ,
  downloadFile: EXPORT,
  listPipelines: READ,
  listSources: MEMBERS_READ,
  scanSources: ADMIN,
  listResources: READ,
  getResourceHistory: READ,
  changeResource: ADMIN,
  listOwners: ADMIN,
  changeOwner: ADMIN,
  listWorkers: READ,
  getStats: READ,
  getOverview: READ,
  getUsage: READ,
  getConfiguration: READ,
  getSample: MEMBERS_READ,
  listAudit: ADMIN,
  getHealth: 'everybody',
  getReadiness: 'everybody',
  getMetrics: ADMIN,
  getOpenApi: 'everybody',
  streamEvents: READ,
  streamJobEvents: READ,
  getSetup: 'everybody',
  setUp: 'everybody',
  signIn: 'everybody',
  getSession: READ,
  confirmSession: OWN,
  signOut: READ,
  changePassword: OWN,
  listUsers: ADMIN,
  createUser: ADMIN,
  changeUser: ADMIN,
  listTeams: ADMIN,
  createTeam: ADMIN,
  listKeys: OWN,
  createKey: OWN,
  revokeKey: ANY_KEY,
  createUpload: WRITE,
  getUpload: WRITE,
  appendUpload: WRITE,
  checkUpload: WRITE,
  deleteUpload: WRITE,
  listWebhooks: READ,
  createWebhook: WRITE,
  getWebhook: READ,
  changeWebhook: WRITE,
  deleteWebhook: WRITE,
  rotateWebhookSecret: WRITE,
  testWebhook: WRITE,
  listDeliveries: READ,
  getDelivery: READ,
  getWorker: READ,
  resendDelivery: WRITE,
  listCounters: READ,
  getCounter: READ,
  listCounterEntities: READ,
  listCounterScopes: READ,
  getCounterValue: READ,
};

const ROUTE_LIST = Object.entries(ROUTES) as [RouteName, Route][];
const ROLE_OF: Record<Caller, 'viewer' | 'member' | 'admin'> = {
  viewer: 'viewer',
  member: 'member',
  admin: 'admin',
  readKey: 'member',
  writeKey: 'member',
  exportKey: 'member',
  adminsReadKey: 'admin',
  adminsWriteKey: 'admin',
  adminsExportKey: 'admin',
  adminKey: 'admin',
};
/** Owners in the matrix; the members share a team. */
const TEAM = '@matrix';
const OTHER = 'matrix-other';

let api: RunningApi;
beforeAll(async () => {
  const flags = {
    authentication: 'password',
    apiPort: 0,
    apiRequestsPerSecond: 10_000,
    apiRequestBurst: 100_000,
    ownerMaxWebhooks: 10_000,
    webhookTimeoutMs: 100,
    // Webhooks only reach this machine.
    webhookAllow: '127.0.0.0/8',
  };
  api = await startApi({
    databaseUrl: database.url,
    pipelines: [],
    settings: loadSettings({ flags, environment: { BLOB_STORE: process.env.BLOB_STORE } }),
    log: silentLogger,
  });
  await addTeam(database, TEAM);
  await addUser(database, 'matrix-viewer', { role: 'viewer', teamId: TEAM });
  await addUser(database, 'matrix-member', { role: 'member', teamId: TEAM });
  await addUser(database, 'matrix-admin', { role: 'admin' });
  await addUser(database, 'matrix-disabled', { role: 'admin' });
  await addUser(database, OTHER);
  await database.query(`update users set disabled = true where user_id = 'matrix-disabled'`);
});
afterAll(() => api.stop());

type AnyCaller = Caller | (typeof STRANGERS)[number];
const known = new Map<AnyCaller, Record<string, string>>();

async function headersOf(caller: AnyCaller): Promise<Record<string, string>> {
  const headers = known.get(caller) ?? (await newHeaders(caller));
  known.set(caller, headers);
  return headers;
}

async function newHeaders(caller: AnyCaller): Promise<Record<string, string>> {
  switch (caller) {
    case 'nobody':
      return {};
    case 'disabled':
      return sessionHeaders(database, 'matrix-disabled');
    case 'disabledKey':
      return keyHeaders(database, 'matrix-disabled', ['read', 'write', 'export', 'admin']);
    case 'revokedKey': {
      const headers = await keyHeaders(database, 'matrix-member', ['read', 'write', 'export']);
      const keyId = headers.authorization.split('_')[1];
      await database.query('update api_keys set revoked_at = now() where key_id = $1', [keyId]);
      return headers;
    }
    case 'readKey':
    case 'writeKey':
    case 'exportKey':
      return keyHeaders(database, 'matrix-member', [caller.replace('Key', '')]);
    case 'adminsReadKey':
    case 'adminsWriteKey':
    case 'adminsExportKey':
      return keyHeaders(database, 'matrix-admin', [
        caller.slice('admins'.length, -'Key'.length).toLowerCase(),
      ]);
    case 'adminKey':
      return keyHeaders(database, 'matrix-admin', ['read', 'write', 'export', 'admin']);
    default:
      return sessionHeaders(database, `matrix-${caller}`);
  }
}

async function addJob(ownerId: string): Promise<string> {
  const jobId = newId();
  await database.query(
    `insert into jobs (job_id, owner_id, pipeline, phases) values ($1, $2, 'matrix', '{only}')`,
    [jobId, ownerId],
  );
  return jobId;
}

async function addUpload(ownerId: string): Promise<string> {
  const uploadId = newId();
  await database.query(
    `insert into uploads (upload_id, owner_id, name, bytes) values ($1, $2, 'rows.csv', 3)`,
    [uploadId, ownerId],
  );
  return uploadId;
}

async function addKey(userId: string): Promise<string> {
  return (await keyHeaders(database, userId, ['read'])).authorization.split('_')[1]!;
}

/** Creates a webhook with the headers of its owner. */
async function addWebhook(userId: string): Promise<string> {
  const made = await sendRequest(`${api.url}/api/webhooks`, {
    method: 'POST',
    headers: await sessionHeaders(database, userId),
    body: { url: 'https://127.0.0.1:1/hook' },
  });
  expect(made.status, made.text).toBe(201);
  return (made.body as { webhookId: string }).webhookId;
}

/** Creates a delivery of a new webhook. */
async function addDelivery(userId: string): Promise<string> {
  const [row] = await database.query(
    `insert into deliveries (webhook_id, kind, body, state) values ($1, 'webhook.test', '{}', 'DEAD')
     returning delivery_id`,
    [await addWebhook(userId)],
  );
  return String(row!.delivery_id);
}

/** Creates a prepared file of a new job. */
async function addFile(ownerId: string): Promise<string> {
  const exportId = newId();
  await database.query(
    `insert into exports (export_id, job_id, owner_id, request, name, content_type, generation)
     values ($1, $2, $3, '{}', 'results.csv', 'text/csv', 1)`,
    [exportId, await addJob(ownerId), ownerId],
  );
  return exportId;
}

/** Fills the parameters of a path; `ids` sets those that matter. */
function pathOf(route: Route, ids: Record<string, string> = {}): string {
  const others: Record<string, string> = {
    jobId: newId(),
    webhookId: newId(),
    uploadId: newId(),
    deliveryId: newId(),
    keyId: '0123456789abcdef',
    userId: OTHER,
    seq: '0',
    fileId: 'nothing',
    name: 'nothing',
    ownerId: 'nobody',
    counter: 'nothing',
  };
  return route.path.replace(/:(\w+)/g, (_, name: string) => (ids[name] ?? others[name])!);
}

async function send(
  route: Route,
  headers: Record<string, string>,
  ids?: Record<string, string>,
): Promise<Answered> {
  return sendRequest(api.url + pathOf(route, ids), {
    method: route.method,
    headers,
    ...(route.body && { body: {} }),
  });
}

function codeOf({ status, body }: Answered): string {
  return status < 400 ? 'ok' : `${status} ${String(body?.code)}`;
}
const REFUSED = ['401 UNAUTHENTICATED', '403 FORBIDDEN', '403 CROSS_SITE'];

test('every route has a row, and every row a route', () => {
  expect(Object.keys(MATRIX).sort()).toEqual(Object.keys(ROUTES).sort());
});

test('the server has no route besides the table, the files of the page and those of /api/docs', () => {
  const table = ROUTE_LIST.map(([, { method, path }]) => `${method} ${path}`);
  const registered = registeredRoutes(api.server);
  expect(registered).toEqual(expect.arrayContaining(table));
  const isFile = (route: string): boolean =>
    route.startsWith('GET /') && existsSync(join('dist/web', route.slice('GET /'.length)));
  const beside = registered.filter((route) => !table.includes(route) && !isFile(route));
  expect(beside.filter((route) => !/^GET \/api\/docs(?:\/|$)/.test(route))).toEqual([]);
});

describe.each(ROUTE_LIST)('%s', (name, route) => {
  const row = MATRIX[name] ?? [];
  const hasJob = route.path.includes(':jobId');
  // An allowed sign-out has ended the session.
  if (name === 'signOut') afterEach(() => known.clear());

  test('allows exactly the callers of the matrix', async () => {
    for (const caller of CALLERS) {
      const isAllowed = row === 'everybody' || row.includes(caller);
      const jobId = hasJob ? await addJob(ownerOf(caller)) : newId();
      const code = codeOf(await send(route, await headersOf(caller), { jobId }));
      if (isAllowed) expect([...REFUSED, '404 JOB_NOT_FOUND'], `${name} for ${caller}`).not.toContain(code);
      else expect([caller, code]).toEqual([caller, '403 FORBIDDEN']);
    }
    const strangersJob = hasJob ? await addJob(TEAM) : newId();
    for (const stranger of STRANGERS) {
      const code = codeOf(await send(route, await headersOf(stranger), { jobId: strangersJob }));
      if (row === 'everybody') expect(REFUSED, `${name} for ${stranger}`).not.toContain(code);
      else expect([stranger, code]).toEqual([stranger, '401 UNAUTHENTICATED']);
    }
  });
});

interface OwnedObject {
  param: string;
  add: (owner: string) => Promise<string>;
  missing: () => string;
  notFound: string;
  /** Ids of the caller's own objects that contain it. */
  within?: (caller: Caller) => Promise<Record<string, string>>;
}

const OBJECTS: OwnedObject[] = [
  { param: 'jobId', add: addJob, missing: newId, notFound: 'JOB_NOT_FOUND' },
  { param: 'webhookId', add: addWebhook, missing: newId, notFound: 'WEBHOOK_NOT_FOUND' },
  { param: 'uploadId', add: addUpload, missing: newId, notFound: 'UPLOAD_NOT_FOUND' },
  { param: 'keyId', add: addKey, missing: () => 'fedcba9876543210', notFound: 'KEY_NOT_FOUND' },
  {
    param: 'deliveryId',
    add: addDelivery,
    missing: newId,
    notFound: 'DELIVERY_NOT_FOUND',
    // A viewer cannot create one, and sees those of the team.
    within: async (caller) => ({
      webhookId: await addWebhook(ROLE_OF[caller] === 'admin' ? 'matrix-admin' : 'matrix-member'),
    }),
  },
  {
    param: 'fileId',
    add: addFile,
    missing: newId,
    notFound: 'FILE_NOT_FOUND',
    within: async (caller) => ({ jobId: await addJob(ownerOf(caller)) }),
  },
];
/** Numbers within an object that has a row above. */
const NUMBERS = ['seq'];
/** Names that do not belong to an owner; other tests check that their contents are filtered by owner. */
const SHARED_NAMES: Record<string, RouteName[]> = {
  workerId: ['getWorker'],
  name: ['getResourceHistory', 'changeResource', 'getSample'],
  counter: ['getCounter', 'listCounterEntities', 'listCounterScopes', 'getCounterValue'],
};

test.each(ROUTE_LIST)('every id in the path of %s has a row', (name, { path }) => {
  for (const [, param] of path.matchAll(/:(\w+)/g)) {
    const isKnown =
      OBJECTS.some((object) => object.param === param) ||
      NUMBERS.includes(param!) ||
      MATRIX[name] === ADMIN ||
      SHARED_NAMES[param!]?.includes(name);
    expect(isKnown, `:${param} of ${path}`).toBe(true);
  }
});

function ownerOf(caller: Caller): string {
  return ROLE_OF[caller] === 'admin' ? 'matrix-admin' : TEAM;
}

describe.each(OBJECTS)('$param', ({ param, add, missing: missingId, notFound, within }) => {
  const routes = ROUTE_LIST.filter(([, route]) => route.path.includes(`:${param}`));

  test.each(routes)(
    '%s answers for an object of another owner like for a missing one',
    async (name, route) => {
      const row = MATRIX[name];
      for (const caller of ['viewer', 'member', ...WEAK_KEYS] as const) {
        if (row !== 'everybody' && !row.includes(caller)) continue;
        const [foreignId, noId] = [await add(OTHER), missingId()];
        const around = await within?.(caller);
        const headers = await headersOf(caller);
        const [foreign, missing] = [
          await send(route, headers, { ...around, [param]: foreignId }),
          await send(route, headers, { ...around, [param]: noId }),
        ];
        expect(withoutIds(foreign, foreignId)).toEqual(withoutIds(missing, noId));
        expect([caller, codeOf(foreign)]).toEqual([caller, `404 ${notFound}`]);
      }
      // An administrator may access all owners. An object within another belongs to that one.
      if (within) return;
      const code = codeOf(await send(route, await headersOf('admin'), { [param]: await add(OTHER) }));
      expect([...REFUSED, `404 ${notFound}`], `${name} for an administrator`).not.toContain(code);
    },
  );
});

test('any key revokes itself', async () => {
  for (const scope of ['read', 'write', 'export', 'admin']) {
    const headers = await keyHeaders(database, 'matrix-admin', [scope]);
    const keyId = headers.authorization.split('_')[1]!;
    expect((await send(ROUTES.revokeKey, headers, { keyId })).status).toBe(204);
    expect(codeOf(await send(ROUTES.revokeKey, headers, { keyId }))).toBe('401 UNAUTHENTICATED');
  }
});

test('a weak key does not revoke other keys of its account', async () => {
  const keyId = await addKey('matrix-member');
  const refused = await send(ROUTES.revokeKey, await headersOf('writeKey'), { keyId });
  expect(codeOf(refused)).toBe('404 KEY_NOT_FOUND');
  expect((await send(ROUTES.revokeKey, await headersOf('member'), { keyId })).status).toBe(204);
});

test.each(ROUTE_LIST.filter(([, { query }]) => query && 'all' in query.shape))(
  '%s lists all owners only for administrators with the scope admin',
  async (name, route) => {
    const asks = async (caller: Caller): Promise<string> =>
      codeOf(
        await sendRequest(`${api.url}${pathOf(route)}?all=true`, {
          headers: await headersOf(caller),
          ...(route.answer.type === 'events' && { method: 'GET' }),
        }),
      );
    for (const caller of MATRIX[name] as readonly Caller[])
      if (caller === 'adminKey' || caller === 'admin') {
        if (route.answer.type !== 'events') expect(await asks(caller)).not.toBe('403 FORBIDDEN');
      } else expect([caller, await asks(caller)]).toEqual([caller, '403 FORBIDDEN']);
  },
);

function withoutIds({ status, body, headers }: Answered, id: string): unknown {
  const { 'x-request-id': requestId, date: _, 'content-length': __, ...rest } = headers;
  const text = JSON.stringify({ status, body, headers: rest });
  return JSON.parse(text.replaceAll(id, '<id>').replaceAll(String(requestId), '<request>'));
}

test('HEAD is authorised like GET', async () => {
  const answered = await sendRequest(`${api.url}/api/users`, { method: 'HEAD' });
  expect(answered.status).toBe(401);
});

test('an unauthorised caller is refused before the body is parsed', async () => {
  const answered = await sendRequest(`${api.url}/api/jobs`, { method: 'POST', body: 'not json' });
  expect(codeOf(answered)).toBe('401 UNAUTHENTICATED');
});

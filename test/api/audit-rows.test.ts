// Audit entries of every route, in a table separate from the route table. Each changing route is called three times so
// that it would succeed: while the audit log refuses rows, and then nothing may have changed; while no other table can
// be committed, and then the audit log may have no entry, so the two are one transaction; then normally, and then
// exactly these entries exist.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../src/api/start-api.ts';
import type { Route } from '../../src/contract/route.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import { retryLater } from '../../src/core/items/outcome.ts';
import { newId } from '../../src/platform/random.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import { capturedLog } from '../../src/testing/captured-log.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { addUser, keyHeaders, PASSWORD, sessionHeaders } from '../support/account-factory.ts';
import { type Answer, csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { png } from '../support/image-writer.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';
import { writeZip } from '../support/zip-writer.ts';

const database = useTestDatabase();
const ADMIN = 'audit-admin';
const WAIT = { timeout: 45_000 };

interface Call {
  params?: Record<string, string>;
  query?: string;
  body?: unknown;
  /** Default: headers of the administrator. */
  headers?: Record<string, string>;
}
interface Changing {
  /** Creates new test data and returns the call. */
  call: () => Promise<Call>;
  /** Entries as `actor: action kind-of-subject`. Default actor: the administrator. */
  rows: string[];
  /** Status of the answer if it is a refusal. */
  status?: number;
  /** True if the entry is written before the action, or is the only write. */
  alone?: true;
}
interface Reading {
  changesNothing: string;
  call?: () => Promise<Call>;
}
/** Routes that change something and leave no entry. */
interface Unaudited {
  leavesNoRow: string;
  call: () => Promise<Call>;
}
const READS = 'it reads';
const NOT_YET = 'parts of a file are not a job yet; the job created from them leaves a row';

const ROWS: Record<RouteName, Changing | Changing[] | Reading | Unaudited> = {
  // First, because it needs a server without accounts, and creates the account for the rest.
  setUp: {
    call: async () => ({ headers: {}, body: { token: setupToken, userId: ADMIN, password: PASSWORD } }),
    rows: ['setup user'],
  },
  signIn: [
    {
      call: async () => ({ headers: {}, body: { userId: ADMIN, password: PASSWORD } }),
      rows: ['sign-in user'],
    },
    {
      call: async () => ({ headers: {}, body: { userId: ADMIN, password: 'another one entirely' } }),
      rows: ['nobody: sign-in.failed user'],
      alone: true,
      status: 401,
    },
  ],
  confirmSession: { call: async () => ({ body: { password: PASSWORD } }), rows: ['sign-in.confirmed user'] },
  signOut: { call: async () => ({}), rows: ['sign-out user'] },
  changePassword: {
    call: async () => {
      const userId = await person();
      const headers = await sessionHeaders(database, userId);
      return { headers, body: { current: PASSWORD, password: 'a lantern in the fog' } };
    },
    rows: ['another: user.password user'],
  },
  createUser: {
    call: async () => ({ body: { userId: `audit-${newId()}`, password: PASSWORD } }),
    rows: ['user.create user'],
  },
  changeUser: {
    call: async () => ({ params: { userId: await person() }, body: { role: 'viewer' } }),
    rows: ['user.change user'],
  },
  createTeam: { call: async () => ({ body: { teamId: `@${newId()}` } }), rows: ['team.create team'] },
  createKey: { call: async () => ({ body: { name: 'ci' } }), rows: ['key.create key'] },
  revokeKey: {
    call: async () => {
      const { authorization } = await keyHeaders(database, ADMIN, ['read']);
      return { params: { keyId: authorization.split('_')[1]! } };
    },
    rows: ['key.revoke key'],
  },
  createJob: [
    {
      call: async () => ({ body: { pipeline: 'doubling', items: [{ n: 1 }] } }),
      rows: ['job.create job', 'job.seal job'],
    },
    // The end of the file seals the job later.
    {
      call: async () => ({ body: uploadForm({ pipeline: 'doubling', again: true }, csvOf(3)) }),
      rows: ['job.create job'],
    },
  ],
  previewJob: {
    changesNothing: 'it keeps nothing of the file',
    call: async () => ({ body: uploadForm({ pipeline: 'doubling' }, csvOf(3)) }),
  },
  changeJob: {
    call: async () => ({ ...(await openJob()), body: { name: 'other' } }),
    rows: ['job.change job'],
  },
  pauseJob: { call: openJob, rows: ['job.pause job'] },
  resumeJob: { call: () => openJob({ hold: true }), rows: ['job.resume job'] },
  cancelJob: { call: openJob, rows: ['job.cancel job'] },
  sealJob: { call: openJob, rows: ['job.seal job'] },
  appendItems: {
    call: async () => ({ ...(await openJob()), body: { items: [{ n: 2 }] } }),
    rows: ['job.items_append job'],
  },
  sliceJob: { call: openJob, rows: ['job.slice job'], alone: true },
  deleteJob: { call: endedJob, rows: ['job.delete job'] },
  reprocessJob: {
    call: async () => ({ ...(await endedJob()), body: { scope: 'job', statuses: ['DONE'] } }),
    rows: ['job.reprocess job'],
  },
  skipErrors: {
    call: async () => {
      const { body, ...job } = await failedJob();
      return { ...job, body: { ...body, reason: 'not sold any more' } };
    },
    rows: ['job.skip job'],
  },
  editErrors: {
    call: async () => {
      const { body, ...job } = await failedJob();
      return { ...job, body: { ...body, change: { field: 'n', to: 5 } } };
    },
    rows: ['job.reprocess job'],
  },
  retryPending: {
    call: async () => {
      const { body } = await make('/api/jobs', { pipeline: 'waiting', items: [{}] });
      await make(`/api/jobs/${body.jobId}/slice?durationMs=20000`);
      return { params: { jobId: body.jobId }, body: {} };
    },
    rows: ['job.retry_now job'],
  },
  createUpload: { leavesNoRow: NOT_YET, call: async () => ({ body: { name: 'rows.csv', bytes: 3 } }) },
  appendUpload: {
    leavesNoRow: NOT_YET,
    call: async () => ({ ...(await announced()), body: Buffer.from('n\n1') }),
  },
  checkUpload: {
    changesNothing: 'it keeps nothing of what it finds',
    call: async () => {
      const { body } = await make('/api/uploads', { name: 'rows.csv', bytes: 0 });
      return { params: { uploadId: body.uploadId }, body: { pipeline: 'doubling' } };
    },
  },
  deleteUpload: { leavesNoRow: NOT_YET, call: announced },
  exportJob: { call: endedJob, rows: ['job.export job'], alone: true },
  prepareExport: { call: endedJob, rows: ['job.export_prepare job'] },
  downloadFile: {
    call: async () => ({ params: { ...(await endedJob()).params, fileId: 'input' } }),
    rows: ['job.file_download job'],
    alone: true,
  },
  scanSources: { call: async () => ({}), rows: ['sources.scan sources'], alone: true },
  changeResource: {
    call: async () => ({ params: { name: newId() }, body: { concurrency: 3 } }),
    rows: ['resource.override resource'],
  },
  changeOwner: {
    call: async () => ({ params: { ownerId: newId() }, body: { weight: 3 } }),
    rows: ['owner.set owner'],
  },
  createWebhook: {
    call: async () => ({ body: { url: receiver.url, kinds: ['job.failed'] } }),
    rows: ['webhook.create webhook'],
  },
  changeWebhook: {
    call: async () => ({ ...(await webhook()), body: { state: 'DISABLED' } }),
    rows: ['webhook.change webhook'],
  },
  deleteWebhook: { call: webhook, rows: ['webhook.delete webhook'] },
  rotateWebhookSecret: { call: webhook, rows: ['webhook.rotate webhook'] },
  testWebhook: { call: webhook, rows: ['webhook.test webhook'] },
  resendDelivery: { call: sentDelivery, rows: ['webhook.resend webhook'] },
  listJobs: { changesNothing: READS },
  findJobs: { changesNothing: READS, call: async () => ({ query: '?prefix=0' }) },
  getJob: { changesNothing: READS },
  getSummary: { changesNothing: READS },
  listItems: { changesNothing: READS },
  getItem: { changesNothing: READS },
  getItemTrace: { changesNothing: READS },
  listLogs: { changesNothing: READS },
  listErrors: { changesNothing: READS },
  getTimeline: { changesNothing: READS },
  listGenerations: { changesNothing: READS },
  compareRuns: { changesNothing: READS, call: rerunJob },
  listRejected: { changesNothing: READS },
  listPendingOfJob: { changesNothing: READS },
  listPending: { changesNothing: READS },
  listJobActivity: { changesNothing: READS },
  listFiles: { changesNothing: 'it reads; fetching one of the files leaves a row' },
  listPipelines: { changesNothing: READS },
  listSources: { changesNothing: READS },
  listResources: { changesNothing: READS },
  listOwners: { changesNothing: READS },
  listWorkers: { changesNothing: READS },
  getStats: { changesNothing: READS },
  getOverview: { changesNothing: READS },
  getUsage: { changesNothing: READS },
  getConfiguration: { changesNothing: READS },
  getSample: { changesNothing: READS, call: async () => ({ params: { name: 'rows.csv' } }) },
  listAudit: { changesNothing: READS },
  getHealth: { changesNothing: READS },
  getReadiness: { changesNothing: READS },
  getMetrics: { changesNothing: READS },
  getOpenApi: { changesNothing: READS },
  streamEvents: { changesNothing: READS },
  streamJobEvents: { changesNothing: READS },
  getSetup: { changesNothing: READS },
  getSession: { changesNothing: READS },
  listUsers: { changesNothing: READS },
  listTeams: { changesNothing: READS },
  listKeys: { changesNothing: READS },
  listWebhooks: { changesNothing: READS },
  getWebhook: { changesNothing: READS, call: webhook },
  listDeliveries: { changesNothing: READS, call: sentDelivery },
  getWorker: { changesNothing: READS, call: onlineWorker },
  getDelivery: { changesNothing: READS, call: sentDelivery },
  previewReprocess: {
    changesNothing: READS,
    call: async () => ({ ...(await endedJob()), body: { scope: 'job', statuses: ['DONE'] } }),
  },
  previewErrorEdit: {
    changesNothing: READS,
    call: async () => {
      const { body, ...job } = await failedJob();
      return { ...job, body: { ...body, change: { field: 'n', to: 5 } } };
    },
  },
  getItemImage: { changesNothing: READS, call: imageJob },
  listTree: { changesNothing: READS },
  getResourceHistory: { changesNothing: READS, call: async () => ({ params: { name: 'any' } }) },
  getUpload: { changesNothing: READS, call: announced },
  listCounters: { changesNothing: READS },
  getCounter: { changesNothing: READS, call: () => counted() },
  listCounterEntities: { changesNothing: READS, call: () => counted('?scope=a') },
  listCounterScopes: { changesNothing: READS, call: () => counted('?entity=b') },
  getCounterValue: { changesNothing: READS, call: () => counted('?scope=a&entity=b') },
};

const waiting = definePipeline({
  name: 'waiting',
  phases: [{ name: 'wait', run: () => retryLater({ afterMs: 3_600_000, reason: 'not today' }) }],
});
const pictures = definePipeline({ name: 'pictures', phases: [{ name: 'look', run: () => ({}) }] });

let api: RunningApi;
let receiver: WebhookReceiver;
let setupToken: string;
const folder = mkdtempSync(join(tmpdir(), 'rowmill-audit-'));
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  const flags = {
    authentication: 'password',
    apiPort: 0,
    apiRequestsPerSecond: 10_000,
    apiRequestBurst: 100_000,
    signInsPerMinute: 1000,
    signInsPerMinuteAddress: 10_000,
    webhookAllow: '127.0.0.0/8',
    pendingDashboard: 'on',
    exportsAtOnce: 100,
    blobStore: join(folder, 'blobs'),
    // Keeps the sweep from changing tables while they are compared.
    sweepMs: 600_000,
  };
  api = await startApi({
    databaseUrl: database.url,
    pipelines: [doubling, waiting, pictures],
    sources: [{ name: 'incoming', kind: 'folder', pipeline: 'doubling', path: folder }],
    samples: ['template/rows.csv'],
    settings: loadSettings({ flags, environment: {} }),
    log: capturedLog(({ fields }) => {
      setupToken = (fields.setupToken as string | undefined) ?? setupToken;
    }, null),
  });
  await database.query(`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'nothing is taken at present'; end $$`);
  await database.query(`create trigger refuse before insert on audit for each row execute function refuse();
    alter table audit disable trigger refuse`);
  for (const table of await comparedTables())
    await database.query(`create constraint trigger refuse after insert or update or delete on ${table}
      deferrable initially deferred for each row execute function refuse();
      alter table ${table} disable trigger refuse`);
});
afterAll(async () => {
  await api.stop();
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

async function person(): Promise<string> {
  const userId = `audit-${newId()}`;
  await addUser(database, userId);
  return userId;
}

async function make(path: string, body?: unknown): Promise<Answer> {
  const answer = await send(api.url, 'POST', path, body, await sessionHeaders(database, ADMIN));
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer;
}

/** An unsealed job with one item. */
async function openJob(options: object = {}): Promise<Call> {
  const { body } = await make('/api/jobs', {
    pipeline: 'doubling',
    items: [{ n: 1 }],
    open: true,
    ...options,
  });
  return { params: { jobId: body.jobId } };
}

/** A finished job of a file. */
async function endedJob(): Promise<Call & { params: { jobId: string } }> {
  const { body } = await make('/api/jobs', uploadForm({ pipeline: 'doubling', again: true }, csvOf(3)));
  await api.context.background.whenIdle();
  const path = `/api/jobs/${body.jobId}/slice?durationMs=20000`;
  while (!(await make(path)).body.finished);
  return { params: { jobId: body.jobId } };
}

/** A finished job with two runs. */
async function rerunJob(): Promise<Call> {
  const ended = await endedJob();
  const path = `/api/jobs/${ended.params.jobId}`;
  await make(`${path}/reprocess`, { scope: 'job', statuses: ['DONE'] });
  while (!(await make(`${path}/slice?durationMs=20000`)).body.finished);
  return ended;
}

/** A finished job with one failed row; the body names its error group. */
async function failedJob(): Promise<Call & { body: { errorGroup: string } }> {
  const { body } = await make('/api/jobs', { pipeline: 'doubling', items: [{ n: 13 }, { n: 1 }] });
  while (!(await make(`/api/jobs/${body.jobId}/slice?durationMs=20000`)).body.finished);
  const errors = await send(
    api.url,
    'GET',
    `/api/jobs/${body.jobId}/errors`,
    undefined,
    await sessionHeaders(database, ADMIN),
  );
  return { params: { jobId: body.jobId }, body: { errorGroup: errors.body.items[0].signature } };
}

async function imageJob(): Promise<Call> {
  const form = uploadForm({ pipeline: 'pictures', hold: true, again: true }, '');
  form.set('file', new Blob([new Uint8Array(writeZip([{ name: 'a.png', data: png(3, 2) }]))]), 'set.zip');
  const { body } = await make('/api/jobs', form);
  await api.context.background.whenIdle();
  return { params: { jobId: body.jobId } };
}

async function announced(): Promise<Call> {
  const { body } = await make('/api/uploads', { name: 'rows.csv', bytes: 3 });
  return { params: { uploadId: body.uploadId } };
}

/** A counter with one entity in one scope. */
async function counted(query = ''): Promise<Call> {
  const name = `audit-${newId()}`;
  await database.query(
    `with c as (insert into counters (name, scope, entity, measures) values ($1, 'project', 'document', '{words}')
       returning counter_id)
     insert into counter_entries (counter_id, owner_id, scope, entity, measured, change)
     select counter_id, $2, 'a', 'b', '{3}', '{3}' from c`,
    [name, ADMIN],
  );
  return { params: { counter: name }, query };
}

/** A webhook that gets none of the events of these tests. */
async function webhook(): Promise<Call & { params: { webhookId: string } }> {
  const { body } = await make('/api/webhooks', { url: receiver.url, kinds: ['job.failed'] });
  return { params: { webhookId: body.webhookId } };
}

async function onlineWorker(): Promise<Call> {
  const workerId = newId();
  await database.query(
    `insert into workers (worker_id, name, version, pipelines) values ($1, 'mill', '1', '{}')`,
    [workerId],
  );
  return { params: { workerId } };
}

async function sentDelivery(): Promise<Call> {
  const { params } = await webhook();
  const { body } = await make(`/api/webhooks/${params.webhookId}/test`);
  return { params: { ...params, deliveryId: body.deliveryId } };
}

async function withHeaders(call: Call): Promise<Call> {
  return { ...call, headers: call.headers ?? (await sessionHeaders(database, ADMIN)) };
}

async function ask(route: Route, { params = {}, query = '', body, headers = {} }: Call): Promise<Answer> {
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => params[name]!) + query;
  if (body instanceof Buffer) {
    const bytes = { ...headers, 'content-type': 'application/octet-stream' };
    const response = await fetch(api.url + path, {
      method: 'POST',
      headers: bytes,
      body: new Uint8Array(body),
    });
    return { status: response.status, body: await response.json(), headers: response.headers };
  }
  if (route.answer.type !== 'events') return send(api.url, route.method, path, body, headers);
  const response = await fetch(api.url + path, { headers });
  await response.body?.cancel();
  return { status: response.status, body: null, headers: response.headers };
}

/** Tables with usage times, event positions and attempt counts, which change independently of the routes. */
const MOVING = ['audit', 'sign_in_attempts', 'event_positions', 'webhook_intake', 'workers'];

async function comparedTables(): Promise<string[]> {
  const found = await database.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = current_schema and tablename <> all ($1)',
    [MOVING],
  );
  return found.map(({ name }) => name);
}

/** A digest of every table. */
async function tables(): Promise<Record<string, string>> {
  await api.context.background.whenIdle();
  const digests: Record<string, string> = {};
  for (const name of await comparedTables()) {
    const [row] = await database.query<{ digest: string }>(
      `select coalesce(md5(string_agg(row, ',' order by row)), '') as digest
       from (select (to_jsonb(t) - '{position,last_seen_at,last_used_at}'::text[])::text as row from ${name} t) rows`,
    );
    digests[name] = row!.digest;
  }
  return digests;
}

interface AuditRow {
  row: string;
  request_id: string | null;
  address: string | null;
}

async function lastAuditId(): Promise<string> {
  const [row] = await database.query<{ last: string }>(
    'select coalesce(max(audit_id), 0) as last from audit',
  );
  return row!.last;
}

function auditSince(last: string): Promise<AuditRow[]> {
  return database.query<AuditRow>(
    `select actor || ': ' || action || ' ' || split_part(subject, ' ', 1) as row, request_id, address
     from audit where audit_id > $1 order by audit_id`,
    [last],
  );
}

/** Makes the tables refuse every change: the audit log immediately, the others at commit. */
async function whileRefusing<T>(refusing: readonly string[], work: () => Promise<T>): Promise<T> {
  const turn = async (how: 'enable' | 'disable'): Promise<void> => {
    for (const table of refusing) await database.query(`alter table ${table} ${how} trigger refuse`);
  };
  await turn('enable');
  try {
    return await work();
  } finally {
    await turn('disable');
  }
}

test('every route has an entry in this table, and nothing else does', () => {
  expect(Object.keys(ROWS).sort()).toEqual(Object.keys(ROUTES).sort());
});

const changing = Object.entries(ROWS).flatMap(([name, row]) =>
  'changesNothing' in row || 'leavesNoRow' in row
    ? []
    : [row].flat().map((each) => [name as RouteName, each.rows, each] as const),
);
const reading = Object.entries(ROWS).flatMap(([name, row]) =>
  'changesNothing' in row ? [[name as RouteName, row] as const] : [],
);

const unaudited = Object.entries(ROWS).flatMap(([name, row]) =>
  'leavesNoRow' in row ? [[name as RouteName, row] as const] : [],
);

describe('a route that changes something', () => {
  test.each(changing)('%s leaves %j', async (name, rows, { call, status, alone }) => {
    const route: Route = ROUTES[name];
    const made = await withHeaders(await call());
    const [before, first] = [await tables(), await lastAuditId()];
    for (const refusing of alone ? [['audit']] : [['audit'], await comparedTables()]) {
      const refused = await whileRefusing(refusing, () => ask(route, made));
      expect([refused.status, refused.body.code]).toEqual([500, 'INTERNAL_ERROR']);
      expect(await tables()).toEqual(before);
      expect(await auditSince(first)).toEqual([]);
    }

    const answer = await ask(route, made);
    expect(answer.status, JSON.stringify(answer.body)).toBe(status ?? route.answer.status);
    const found = await auditSince(first);
    expect(found.map(({ row }) => row.replace(/^audit-[0-9a-f-]{36}:/, 'another:'))).toEqual(
      rows.map((row) => (row.includes(':') ? row : `${ADMIN}: ${row}`)),
    );
    const requestId = answer.headers.get('x-request-id');
    for (const row of found) expect(row).toMatchObject({ request_id: requestId, address: '127.0.0.1' });
    const unsent = () => database.query(`select 1 from deliveries where state = 'PENDING'`);
    await expect.poll(unsent, WAIT).toEqual([]);
  });
});

describe('a route that leaves no row', () => {
  test.each(unaudited)('%s succeeds without an audit entry', async (name, { call }) => {
    const made = await withHeaders(await call());
    const first = await lastAuditId();
    const answer = await ask(ROUTES[name], made);
    expect(answer.status, JSON.stringify(answer.body)).toBe(ROUTES[name].answer.status);
    expect(await auditSince(first)).toEqual([]);
  });
});

describe('a route that changes nothing', () => {
  let common: Call;
  beforeAll(async () => {
    common = await endedJob();
  });

  test.each(reading)('%s leaves everything as it is', async (name, { call }) => {
    const route: Route = ROUTES[name];
    const { params, ...rest } = await withHeaders((await call?.()) ?? {});
    const [before, first] = [await tables(), await lastAuditId()];
    const answer = await ask(route, { ...rest, params: { ...common.params, seq: '0', ...params } });
    expect(answer.status, JSON.stringify(answer.body)).toBe(route.answer.status);
    expect(await tables()).toEqual(before);
    expect(await auditSince(first)).toEqual([]);
  });
});

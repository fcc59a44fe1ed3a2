// Calls every route of the OpenAPI document: first plainly, which must succeed, then with valid, invalid and hostile
// requests. Every answer must be one that the document lists, in its documented shape, and nothing may break.
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../src/api/documents/openapi.ts';
import type { RunningApi } from '../../src/api/start-api.ts';
import { accountRoutes } from '../../src/contract/accounts.ts';
import { errorAnswer, type Route } from '../../src/contract/route.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import { SCOPES } from '../../src/contract/scopes.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { addUser, keyHeaders } from '../support/account-factory.ts';
import { addCounted } from '../support/counter-factory.ts';
import { depth } from '../support/depth.ts';
import { hostileValues, type JsonSchema, validValues } from '../support/schema-arbitrary.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const RUNS = depth(3, 12);

interface Operation {
  operationId: RouteName;
  parameters: { name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: JsonSchema }[];
  requestBody?: { content: Record<string, { schema: JsonSchema }> };
  responses: Record<string, unknown>;
}
const document = openApiDocument() as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, JsonSchema> };
};
const all = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

const pipeline = definePipeline({
  name: 'every-route',
  outputs: [],
  phases: [{ name: 'only', run: (row) => ({ seen: row }) }],
});
let jobIds: string[];
/** A fresh job, for routes that need one. */
let spareJobs: Partial<Record<RouteName, string>>;
beforeAll(async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const rows = [{ name: 'one' }, { name: 'two' }, { name: 'three' }];
  const held = await rowmill.submit(pipeline, rows, { hold: true });
  const { jobId: open } = await rowmill.createJob(pipeline, { hold: true });
  const { jobId: spareOpen } = await rowmill.createJob(pipeline, { hold: true });
  const [ended, spare] = [await rowmill.submit(pipeline, rows), await rowmill.submit(pipeline, rows)];
  const worker = await rowmill.startWorker([pipeline]);
  await Promise.all([ended, spare].map((jobId) => rowmill.whenFinished(jobId)));
  await worker.stop();
  await rowmill.close();
  await addCounted(database, { counter: 'notes', measures: ['notes', 'links'] }, [
    { ownerId: 'local', scope: 'p', entity: 'd', measured: [3, 1] },
  ]);
  jobIds = [held, ended, open];
  spareJobs = { deleteJob: spare, appendItems: spareOpen };
});

interface Request {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: unknown;
}

/** Each part is valid most of the time, so that later checks are reached too. */
function requests({ parameters, requestBody }: Operation): fc.Arbitrary<Request> {
  const { schemas } = document.components;
  const mostly = (right: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 4, arbitrary: right }, { weight: 1, arbitrary: hostileValues });
  const part = (place: 'path' | 'query') => {
    const listed = parameters.filter((each) => each.in === place);
    const values = listed.map(({ name, schema }) => [
      name,
      mostly(name === 'jobId' ? fc.constantFrom(...jobIds) : validValues(schema, schemas)),
    ]);
    const requiredKeys = listed.filter(({ required }) => required).map(({ name }) => name) as never[];
    return fc.record(Object.fromEntries(values) as Record<string, fc.Arbitrary<unknown>>, { requiredKeys });
  };
  const bodySchema = requestBody?.content['application/json']?.schema;
  return fc.record({
    params: part('path'),
    query: part('query'),
    body: bodySchema ? mostly(validValues(bodySchema, schemas)) : fc.constant(undefined),
  });
}

async function send(
  api: RunningApi,
  path: string,
  method: string,
  { params, query, body }: Request,
  headers: Record<string, string>,
) {
  const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
  const encode = (value: unknown): string => encodeURIComponent(text(value).toWellFormed()) || '%20';
  const search = Object.entries(query)
    .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((each) => [name, each] as const))
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .join('&');
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(params[name]));
  return fetch(`${api.url}${address}${search === '' ? '' : `?${search}`}`, {
    method,
    signal: AbortSignal.timeout(60_000),
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) ?? 'null' }),
  });
}

async function checkAnswer(operation: Operation, response: Response): Promise<void> {
  const { operationId, responses } = operation;
  const route: Route = ROUTES[operationId];
  if (route.answer.type === 'events' && response.ok) {
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    await response.body?.cancel();
    return;
  }
  const text = await response.text();
  // The URL no longer matches this route, so the answer is not about it.
  const isOther = response.status === 404 && text.includes('"ROUTE_NOT_FOUND"');
  if (isOther) return;
  expect(Object.keys(responses), `${operationId} ${text.slice(0, 300)}`).toContain(String(response.status));
  if (!response.ok) {
    expect(errorAnswer.parse(JSON.parse(text)).code, text).not.toBe('INTERNAL_ERROR');
    return;
  }
  if (route.answer.schema) route.answer.schema.parse(JSON.parse(text));
}

/** Values that a plain request needs beyond the document. */
const PLAIN: Partial<Record<RouteName, Partial<Request>>> = {
  createJob: { body: { pipeline: pipeline.name, items: [{ name: 'four' }] } },
  appendItems: { body: { items: [{ name: 'five' }] } },
  reprocessJob: { body: { scope: 'job', statuses: ['DONE', 'ERROR'] } },
  previewReprocess: { body: { scope: 'job', statuses: ['DONE'] } },
  previewErrorEdit: { body: { errorGroup: 'permanent: x', change: { field: 'name', to: 'four' } } },
  createUpload: { body: { name: 'rows.csv', bytes: 3 } },
  createWebhook: { body: { url: 'http://127.0.0.1:9/hook' } },
  findJobs: { query: { prefix: '0' } },
  changeOwner: { body: { weight: 2 } },
  changeResource: { body: { concurrency: 2 } },
  getCounterValue: { query: { scope: 'p', entity: 'd' } },
  changeJob: { body: { name: 'renamed' } },
  createTeam: { body: { teamId: '@sales' } },
  createKey: { body: { name: 'of a program' } },
  createUser: { body: { userId: 'somebody', password: 'quiet harbour lantern' } },
};
/** Routes that need data only their own tests create: a file, failed rows, a message, a password, a token. */
const NOT_PLAIN: RouteName[] = [
  'previewJob',
  'skipErrors',
  'editErrors',
  'downloadFile',
  'getItemImage',
  'getSample',
  'getUpload',
  'appendUpload',
  'checkUpload',
  'deleteUpload',
  'getWebhook',
  'changeWebhook',
  'deleteWebhook',
  'rotateWebhookSecret',
  'testWebhook',
  'listDeliveries',
  'getDelivery',
  'getWorker',
  'resendDelivery',
  'setUp',
  'signIn',
  'confirmSession',
  'changePassword',
  'signOut',
  'revokeKey',
];

/** The minimal request of the route, once for each job. */
function plainRequests({ operationId, parameters, requestBody }: Operation): Request[] {
  const spare = spareJobs[operationId];
  const jobs = spare === undefined ? jobIds : [spare];
  const known = { seq: 0, userId: 'root', name: 'shop', ownerId: 'local', counter: 'notes' };
  const params = Object.fromEntries(
    parameters.filter((each) => each.in === 'path').map(({ name }) => [name, known[name as 'seq']]),
  );
  const plain = { query: {}, body: requestBody ? {} : undefined, ...PLAIN[operationId] };
  return jobs.map((jobId) => ({ ...plain, params: { ...params, jobId } }));
}

async function callPlainly({ path, method, operation }: (typeof all)[number], api: RunningApi, headers = {}) {
  if (NOT_PLAIN.includes(operation.operationId)) return;
  const statuses: number[] = [];
  for (const request of plainRequests(operation)) {
    const response = await send(api, path, method, request, headers);
    statuses.push(response.status);
    await checkAnswer(operation, response);
  }
  expect(Math.min(...statuses), `${operation.operationId}: a plain request is taken`).toBeLessThan(300);
}

async function callAnyhow({ path, method, operation }: (typeof all)[number], api: RunningApi, headers = {}) {
  await fc.assert(
    fc.asyncProperty(requests(operation), async (request) => {
      await checkAnswer(operation, await send(api, path, method, request, headers));
    }),
    { numRuns: RUNS },
  );
}

const isOfAccounts = ({ operation }: (typeof all)[number]) => operation.operationId in accountRoutes;
// Routes that delete jobs come last, because the others need them.
const others = all
  .filter((each) => !isOfAccounts(each))
  .sort(
    (a, b) =>
      Number(a.operation.operationId === 'deleteJob') - Number(b.operation.operationId === 'deleteJob'),
  );

test.each(others)('$operation.operationId answers as documented, whatever it is sent', async (each) => {
  const api = await startTestApi(database.url, {
    pipelines: [pipeline],
    settings: { pendingDashboard: 'on', streamsAtOnce: 10_000, webhookAllow: '127.0.0.0/8' },
  });
  await callPlainly(each, api);
  await callAnyhow(each, api);
});

test('account routes answer as documented, with and without accounts', async () => {
  const accounts = all.filter(isOfAccounts);
  const without = await startTestApi(database.url);
  await addUser(database, 'root', { role: 'admin' });
  const api = await startTestApi(database.url, { settings: { authentication: 'password' } });
  const headers = await keyHeaders(database, 'root', [...SCOPES]);
  for (const each of accounts) {
    await callAnyhow(each, without);
    await callPlainly(each, api, headers);
    await callAnyhow(each, api, headers);
  }
});

// The header Idempotency-Key on all routes: a request is carried out once, and its first answer is replayed.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../src/client/create-client.ts';
import { idempotencyOf } from '../../src/contract/idempotency.ts';
import type { Route } from '../../src/contract/route.ts';
import { ROUTES } from '../../src/contract/routes.ts';
import { reserveAnswer } from '../../src/engine/jobs/answer-once.ts';
import { pruneEvents } from '../../src/engine/services/event-pruner.ts';
import { newId } from '../../src/platform/random.ts';
import { addUser, keyHeaders } from '../support/account-factory.ts';
import { doubling, send } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const newKey = () => ({ 'idempotency-key': newId() });
const upload = { name: 'rows.csv', bytes: 3 };
const rows = [{ n: 1 }, { n: 2 }, { n: 3 }];

async function openJob(url: string): Promise<string> {
  const job = { pipeline: 'doubling', items: [], open: true };
  return (await send(url, 'POST', '/api/jobs', job)).body.jobId as string;
}

test('a repeated request gets the first answer, whatever happened since', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await openJob(url);
  const post = (action: string, body?: unknown, key = {}) =>
    send(url, 'POST', `/api/jobs/${jobId}/${action}`, body, key);
  const [append, cancel] = [newKey(), newKey()];
  const first = await post('items', { items: rows }, append);
  expect([first.status, first.body, first.headers.get('idempotent-replayed')]).toEqual([
    200,
    { itemCount: 3, appended: 3 },
    null,
  ]);
  await post('items', { items: [{ n: 4 }] });
  const again = await post('items', { items: rows }, append);
  expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([
    200,
    { itemCount: 3, appended: 3 },
    'true',
  ]);
  const cancelled = await post('cancel', undefined, cancel);
  expect([cancelled.status, cancelled.body.changed]).toEqual([202, true]);
  const repeated = await post('cancel', undefined, cancel);
  expect([repeated.status, repeated.body]).toEqual([202, cancelled.body]);
});

test('a refusal is replayed too', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await openJob(url);
  await send(url, 'POST', `/api/jobs/${jobId}/seal`);
  const key = newKey();
  const append = () => send(url, 'POST', `/api/jobs/${jobId}/items`, { items: rows }, key);
  const first = await append();
  expect([first.status, first.body.code]).toEqual([409, 'JOB_NOT_INGESTING']);
  const again = await append();
  // The answer has the id of the first request, which is in the log.
  expect([again.status, again.body]).toEqual([409, first.body]);
});

test('a request that got Retry-After is carried out when it is repeated', async () => {
  const { url } = await startTestApi(database.url, { settings: { ownerMaxUploads: 1 } });
  const { body: other } = await send(url, 'POST', '/api/uploads', upload);
  const key = newKey();
  expect((await send(url, 'POST', '/api/uploads', upload, key)).body.code).toBe('QUOTA_EXCEEDED');
  await send(url, 'DELETE', `/api/uploads/${other.uploadId}`);
  const made = await send(url, 'POST', '/api/uploads', upload, key);
  expect(made.status).toBe(201);
  await send(url, 'DELETE', `/api/uploads/${made.body.uploadId}`);
});

test('the key with another body, query or route is refused', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await openJob(url);
  const key = newKey();
  await send(url, 'POST', `/api/jobs/${jobId}/items`, { items: rows }, key);
  for (const [path, body] of [
    [`/api/jobs/${jobId}/items`, { items: [{ n: 1 }, { n: 2 }, { n: 4 }] }],
    [`/api/jobs/${await openJob(url)}/items`, { items: rows }],
    [`/api/jobs/${jobId}/pause`, undefined],
    ['/api/uploads', upload],
  ] as const) {
    const other = await send(url, 'POST', path, body, key);
    expect([other.status, other.body.code], path).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  }
  const long = await send(url, 'POST', '/api/uploads', upload, { 'idempotency-key': 'k'.repeat(201) });
  expect([long.status, long.body.code]).toEqual([400, 'REQUEST_INVALID']);
});

test('exactly one of many concurrent requests with one key is carried out', async () => {
  const { url } = await startTestApi(database.url);
  const [key, name] = [newKey(), newId()];
  const post = () => send(url, 'POST', '/api/uploads', { name, bytes: 3 }, key);
  const answers = await Promise.all(Array.from({ length: 20 }, post));
  const ids = answers.filter(({ status }) => status === 201).map(({ body }) => body.uploadId as string);
  expect(new Set(ids).size).toBe(1);
  for (const { body, headers } of answers.filter(({ status }) => status !== 201))
    expect([body.code, headers.get('retry-after')]).toEqual(['IDEMPOTENCY_KEY_IN_USE', '1']);
  expect(await database.query('select 1 from uploads where name = $1', [name])).toHaveLength(1);
  expect((await post()).body.uploadId).toBe(ids[0]);
});

test('a key belongs to the account, whichever API key is used', async () => {
  const { url } = await startTestApi(database.url, { settings: { authentication: 'password' } });
  const people = [`ann-${newId()}`, `bob-${newId()}`];
  for (const userId of people) await addUser(database, userId);
  const key = newKey();
  const post = async (userId: string, body: object) =>
    send(url, 'POST', '/api/uploads', body, { ...(await keyHeaders(database, userId, ['write'])), ...key });
  const [ann, bob] = [await post(people[0]!, upload), await post(people[1]!, { ...upload, bytes: 4 })];
  expect([ann.status, bob.status]).toEqual([201, 201]);
  expect(bob.body.uploadId).not.toBe(ann.body.uploadId);
  expect((await post(people[0]!, upload)).body).toEqual(ann.body);
});

test('a new key over the limit of an account is refused, but not known keys and other accounts', async () => {
  const settings = { authentication: 'password', userMaxIdempotencyKeys: 2 } as const;
  const { url } = await startTestApi(database.url, { settings });
  const people = [`eve-${newId()}`, `dan-${newId()}`] as const;
  for (const userId of people) await addUser(database, userId);
  const post = async (userId: string, key: object) =>
    send(url, 'POST', '/api/uploads', upload, { ...(await keyHeaders(database, userId, ['write'])), ...key });
  const [eve, dan] = people;
  const first = newKey();
  const { body: made } = await post(eve, first);
  await post(eve, newKey());
  const refused = await post(eve, newKey());
  expect([refused.status, refused.body.code]).toEqual([429, 'TOO_MANY_IDEMPOTENCY_KEYS']);
  expect(refused.body.message).toContain(
    'at most 2 idempotency keys of one account (userMaxIdempotencyKeys)',
  );
  expect((await post(eve, first)).body).toEqual(made);
  expect((await post(eve, {})).status).toBe(201);
  expect((await post(dan, newKey())).status).toBe(201);
});

test('a request whose process died before its answer was stored is not carried out again while its key is kept', async () => {
  const { url, context } = await startTestApi(database.url);
  const key = newId();
  const name = newId();
  const asked = JSON.stringify(['createUpload', undefined, undefined, { name, bytes: 3 }]);
  // The state after the crash: reserved, and never answered.
  await reserveAnswer(context.engine, { caller: 'local', key, asked });
  const post = () => send(url, 'POST', '/api/uploads', { name, bytes: 3 }, { 'idempotency-key': key });
  const refused = await post();
  expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([
    409,
    'IDEMPOTENCY_KEY_IN_USE',
    '1',
  ]);
  expect(await database.query('select 1 from uploads where name = $1', [name])).toEqual([]);
  const age = () =>
    database.query(`update idempotency_keys set created_at = created_at - interval '25 hours'`);
  await age();
  expect((await post()).status).toBe(201);
  await pruneEvents(context.engine, { deliveries: true });
  expect((await post()).headers.get('idempotent-replayed')).toBe('true');
  await age();
  await pruneEvents(context.engine, { deliveries: true });
  expect(await database.query('select 1 from idempotency_keys')).toEqual([]);
});

const posts = (Object.entries(ROUTES) as [string, Route][]).filter(([, { method }]) => method === 'POST');

test('no route stores an answer with a secret or a password hash', () => {
  const secret = /"(key|secret|password|current|token)":/;
  const schemas = (route: Route) =>
    [route.answer.schema, route.body]
      .filter((schema) => schema !== null && schema !== undefined)
      .map((schema) => JSON.stringify(z.toJSONSchema(schema, { unrepresentable: 'any' })))
      .join();
  const withSecrets = posts.filter(([name, route]) => name !== 'createJob' && secret.test(schemas(route)));
  expect(withSecrets.map(([name]) => name)).toEqual(
    expect.arrayContaining([
      'setUp',
      'signIn',
      'createUser',
      'createKey',
      'createWebhook',
      'rotateWebhookSecret',
    ]),
  );
  for (const [name, route] of withSecrets) expect([name, idempotencyOf(route)]).toEqual([name, 'refused']);
});

test.each(
  (Object.entries(ROUTES) as [string, Route][]).filter(([, route]) => idempotencyOf(route) === 'refused'),
)('%s refuses the header instead of ignoring it', async (_, { method, path }) => {
  const { url } = await startTestApi(database.url);
  const { status, body } = await send(url, method, path.replaceAll(/:\w+/g, newId()), undefined, newKey());
  expect([status, body.code]).toEqual([400, 'REQUEST_INVALID']);
  expect(body.message).toContain('Idempotency-Key');
});

test('the client retries only requests that are carried out once', async () => {
  const { url } = await startTestApi(database.url, { pipelines: [doubling] });
  const jobId = await openJob(url);
  let asked = 0;
  // The first answer to each request is lost.
  const fetchLosing: typeof fetch = async (...given) => {
    const response = await fetch(...given);
    asked += 1;
    if (asked > 1) return response;
    await response.arrayBuffer();
    throw new TypeError('fetch failed');
  };
  const client = createClient({ baseUrl: url, fetch: fetchLosing });
  const answer = await client.appendItems({ jobId, items: rows }, { idempotencyKey: newId() });
  expect([asked, answer]).toEqual([2, { itemCount: 3, appended: 3 }]);
  for (const call of [
    () => client.appendItems({ jobId, items: rows }),
    () => client.changeJob({ jobId, name: 'x' }, { idempotencyKey: newId() }),
    () => client.createWebhook({ url: 'https://localhost/' }, { idempotencyKey: newId() }),
  ]) {
    asked = 0;
    await expect(call()).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
    expect(asked).toBe(1);
  }
});

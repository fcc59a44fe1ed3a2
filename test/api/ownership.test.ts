// Isolation of two owners on one server: idempotency keys, files, jobs, sources and messages of another owner cannot
// be used by naming them.
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import type { SourceConfig } from '../../src/ingest/sources/source-config.ts';
import { newId } from '../../src/platform/random.ts';
import { addUser, keyHeaders } from '../support/account-factory.ts';
import { type Answer, csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-owners-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Person = (method: string, path: string, body?: unknown, headers?: object) => Promise<Answer>;
const HEADERS: Record<string, { authorization: string }> = {};
beforeAll(async () => {
  for (const userId of ['ada', 'bob']) {
    await addUser(database, userId);
    HEADERS[userId] = await keyHeaders(database, userId, ['read', 'write', 'export']);
  }
});

async function start(): Promise<{ api: RunningApi; ada: Person; bob: Person }> {
  const sources: SourceConfig[] = [
    { name: 'of-ada', kind: 'folder', pipeline: 'doubling', path: folder, owner: 'ada', stableMs: 0 },
  ];
  const api = await startTestApi(database.url, {
    pipelines: [doubling],
    sources,
    settings: {
      authentication: 'password',
      blobStore: join(folder, 'blobs'),
      webhookAllow: '127.0.0.0/8',
    },
  });
  const as =
    (userId: string): Person =>
    (method, path, body, headers) =>
      send(api.url, method, path, body, { ...HEADERS[userId], ...headers });
  return { api, ada: as('ada'), bob: as('bob') };
}

/** The answer without ids that always differ. */
const told = ({ status, body }: Answer, ...ids: string[]): unknown => {
  const text = ids.reduce((left, id) => left.replaceAll(id, '<id>'), JSON.stringify(body));
  return { status, ...JSON.parse(text), requestId: null };
};

test('idempotency keys and files of two owners are independent', async () => {
  const { ada, bob } = await start();
  const items = { pipeline: 'doubling', items: [{ n: 1 }] };
  const key = { 'idempotency-key': newId() };
  const [hers, his] = [
    await ada('POST', '/api/jobs', items, key),
    await bob('POST', '/api/jobs', { ...items, items: [{ n: 2 }] }, key),
  ];
  expect([hers.body.created, his.body.created]).toEqual([true, true]);
  expect(his.body.jobId).not.toBe(hers.body.jobId);
  const from = randomInt(1_000_000);
  const file = (): FormData => uploadForm({ pipeline: 'doubling' }, csvOf(5, from));
  const [herFile, hisFile] = [await ada('POST', '/api/jobs', file()), await bob('POST', '/api/jobs', file())];
  expect([herFile.body.created, hisFile.body.created]).toEqual([true, true]);
  expect((await bob('GET', `/api/jobs/${herFile.body.jobId}`)).body.code).toBe('JOB_NOT_FOUND');
  const ids = async (person: Person): Promise<unknown> =>
    (await person('GET', `/api/job-ids?prefix=${herFile.body.jobId.slice(0, 13)}`)).body.items;
  expect(await ids(ada)).toMatchObject([{ jobId: herFile.body.jobId, pipeline: 'doubling' }]);
  expect(await ids(bob)).toEqual([]);
});

test('a job of another owner cannot be corrected, and is answered like a missing one', async () => {
  const { ada, bob } = await start();
  const { body } = await ada('POST', '/api/jobs', { pipeline: 'doubling', items: [{ n: 1 }] });
  const missing = newId();
  const correct = (updatesJobId: string) =>
    bob('POST', '/api/jobs', uploadForm({ pipeline: 'doubling', key: ['n'], updatesJobId }, csvOf(2)));
  const foreign = told(await correct(body.jobId), body.jobId);
  expect(foreign).toMatchObject({ status: 404, code: 'JOB_NOT_FOUND' });
  expect(foreign).toEqual(told(await correct(missing), missing));
});

test('a job cannot be created for another owner', async () => {
  const { bob } = await start();
  const { status, body } = await bob('POST', '/api/jobs', {
    pipeline: 'doubling',
    items: [],
    ownerId: 'ada',
  });
  expect([status, body.code]).toEqual([403, 'FORBIDDEN']);
});

test.each(['/api/jobs', '/api/jobs/preview'])(
  'a source of another owner is answered by %s like a missing one',
  async (path) => {
    const { ada, bob } = await start();
    writeFileSync(join(folder, 'rows.csv'), csvOf(2));
    const take = (who: Person, name: string) =>
      who('POST', path, { pipeline: 'doubling', source: { name, path: 'rows.csv' } });
    const foreign = told(await take(bob, 'of-ada'), 'of-ada');
    expect(foreign).toMatchObject({ status: 404, code: 'SOURCE_NOT_FOUND' });
    expect(foreign).toEqual(told(await take(bob, 'nothing'), 'nothing'));
    expect((await take(ada, 'of-ada')).status).toBeLessThan(300);
  },
);

test('a delivery of another owner cannot be resent through a webhook of the caller', async () => {
  const { ada, bob } = await start();
  const make = async (who: Person): Promise<string> =>
    (await who('POST', '/api/webhooks', { url: 'https://127.0.0.1:1/hook' })).body.webhookId;
  const [hers, his] = [await make(ada), await make(bob)];
  const [{ delivery_id: deliveryId }] = (await database.query<{ delivery_id: string }>(
    `insert into deliveries (webhook_id, kind, body, state) values ($1, 'job.created', '{}', 'DEAD') returning delivery_id`,
    [hers],
  )) as [{ delivery_id: string }];
  const resend = (webhookId: string, id: string) =>
    bob('POST', `/api/webhooks/${webhookId}/deliveries/${id}/resend`);
  const missing = newId();
  const foreign = told(await resend(his, deliveryId), deliveryId);
  expect(foreign).toMatchObject({ status: 404, code: 'DELIVERY_NOT_FOUND' });
  expect(foreign).toEqual(told(await resend(his, missing), missing));
  expect((await resend(hers, deliveryId)).body.code).toBe('WEBHOOK_NOT_FOUND');
  expect((await bob('GET', `/api/webhooks/${his}/deliveries`)).body.items).toEqual([]);
});

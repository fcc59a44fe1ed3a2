// Quotas of an owner, also with many concurrent requests.
import { expect, test } from 'vitest';
import { csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const pipelines = [doubling];

test('accepts only the allowed number of many concurrent jobs', async () => {
  const { url } = await startTestApi(database.url, { pipelines, settings: { ownerMaxOpenJobs: 3 } });
  const make = (ownerId: string) =>
    send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items: [{ n: 1 }], ownerId, open: true });
  const answers = await Promise.all(Array.from({ length: 10 }, () => make('many')));
  const refused = answers.filter(({ status }) => status !== 202);
  expect(refused).toHaveLength(7);
  for (const { status, body } of refused) {
    expect([status, body.code]).toEqual([429, 'QUOTA_EXCEEDED']);
    expect(body.message).toContain('ownerMaxOpenJobs');
  }
  // Other owners are not affected, and finished jobs make room.
  expect((await make('other')).status).toBe(202);
  const first = answers.find(({ status }) => status === 202)!;
  await send(url, 'POST', `/api/jobs/${first.body.jobId}/cancel`);
  await expect.poll(async () => (await make('many')).status).toBe(202);
});

test('a repeated request yields the same job even if the quota is reached', async () => {
  const { url } = await startTestApi(database.url, { pipelines, settings: { ownerMaxOpenJobs: 1 } });
  const make = (key: string) =>
    send(
      url,
      'POST',
      '/api/jobs',
      { pipeline: 'doubling', items: [{ n: 1 }], ownerId: 'again' },
      { 'idempotency-key': key },
    );
  const first = await make('one');
  expect((await make('two')).status).toBe(429);
  expect((await make('one')).body).toEqual({ jobId: first.body.jobId, created: false });
});

test('limits the total bytes of the files of an owner', async () => {
  const text = csvOf(10_000);
  const bytes = Buffer.byteLength(text);
  const { url } = await startTestApi(database.url, {
    pipelines,
    settings: { ownerMaxStoredBytes: 1_000_000, uploadsAtOnce: 1000 },
  });
  const fitting = Math.floor(1_000_000 / bytes);
  const make = () =>
    send(
      url,
      'POST',
      '/api/jobs',
      uploadForm({ pipeline: 'doubling', ownerId: 'files', again: true, hold: true }, text),
    );
  const answers = await Promise.all(Array.from({ length: fitting + 5 }, make));
  const refused = answers.filter(({ status }) => status !== 202);
  expect(refused).toHaveLength(5);
  expect(new Set(refused.map(({ body }) => body.code))).toEqual(new Set(['QUOTA_EXCEEDED']));
  expect(refused[0]!.body.message).toContain('ownerMaxStoredBytes');
  const [row] = await database.query<{ n: string }>(
    `select count(*) as n from jobs where owner_id = 'files'`,
  );
  expect(Number(row!.n)).toBe(fitting);
});

// Files of a job: its input, the outputs of its generations, and exports prepared in the background.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { jobFile } from '../../src/contract/files.ts';
import { prepareExport } from '../../src/engine/exports/prepare-export.ts';
import { pruneExports, runExports } from '../../src/engine/exports/run-exports.ts';
import { newId } from '../../src/platform/random.ts';
import { csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { withMethods } from '../support/with-methods.ts';

const database = useTestDatabase();
const blobStore = mkdtempSync(join(tmpdir(), 'rowmill-files-'));
afterAll(() => rmSync(blobStore, { recursive: true, force: true }));
const never = new AbortController().signal;

interface File {
  fileId: string;
  kind: string;
  name: string;
  downloadName: string;
  state: string;
  bytes: number;
  sha256: string;
  generation: number | null;
}

function start(settings = {}): Promise<RunningApi> {
  // A long sweep interval, so that exports run only when the test starts them.
  return startTestApi(database.url, {
    pipelines: [doubling],
    settings: { blobStore, sweepMs: 60_000, ...settings },
  });
}

async function finishedJob({ url, context }: RunningApi, text: string): Promise<string> {
  const { body } = await send(
    url,
    'POST',
    '/api/jobs',
    uploadForm({ pipeline: 'doubling', again: true }, text),
  );
  await context.background.whenIdle();
  await runToEnd(url, body.jobId as string);
  return body.jobId as string;
}

async function runToEnd(url: string, jobId: string): Promise<void> {
  const slice = await send(url, 'POST', `/api/jobs/${jobId}/slice?durationMs=60000`);
  expect(slice.body.finished).toBe(true);
}

async function filesOf(url: string, jobId: string): Promise<File[]> {
  const { status, body } = await send(url, 'GET', `/api/jobs/${jobId}/files`);
  expect(status).toBe(200);
  for (const file of body.items) expect(jobFile.parse(file)).toEqual(file);
  return body.items as File[];
}

test('input and outputs of each generation are listed and fetched with length and checksum', async () => {
  const { url, context } = await start();
  const text = `${csvOf(5)}13,broken\n`;
  const jobId = await finishedJob({ url, context } as RunningApi, text);
  const reprocess = { scope: 'job', includePermanent: true };
  expect((await send(url, 'POST', `/api/jobs/${jobId}/reprocess`, reprocess)).status).toBe(202);
  await runToEnd(url, jobId);
  const files = await filesOf(url, jobId);
  const per = (generation: number) =>
    ['results.csv', 'unsuccessful.csv', 'summary.json'].map((name) => `g${generation}-${name}`);
  expect(files.map(({ fileId }) => fileId)).toEqual(['input', ...per(1), ...per(2)]);
  expect(files[0]).toMatchObject({ kind: 'input', name: 'rows.csv', bytes: Buffer.byteLength(text) });
  expect(files.map(({ downloadName }) => downloadName)).toEqual([
    'rows.csv',
    'rows-results-run-1.csv',
    'rows-unsuccessful-run-1.csv',
    'rows-summary-run-1.json',
    'rows-results.csv',
    'rows-unsuccessful.csv',
    'rows-summary.json',
  ]);
  const streamed = await fetch(`${url}/api/jobs/${jobId}/export`, { method: 'HEAD' });
  expect(streamed.headers.get('content-disposition')).toContain('filename="rows-results.csv"');
  const { body: shown } = await send(url, 'GET', `/api/jobs/${jobId}`);
  const [{ run_ms }] = (await database.query(
    `select sum((timings ->> 'runMs')::float8) as run_ms from summaries where job_id = $1`,
    [jobId],
  )) as [{ run_ms: number }];
  expect(shown.runMs).toBe(run_ms);
  for (const file of files) {
    const response = await fetch(`${url}/api/jobs/${jobId}/files/${file.fileId}`);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(Number(response.headers.get('content-length'))).toBe(file.bytes);
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256);
    const digest = Buffer.from(file.sha256, 'hex').toString('base64');
    expect(response.headers.get('repr-digest')).toBe(`sha-256=:${digest}:`);
    expect(response.headers.get('content-disposition')).toContain(`filename="${file.downloadName}"`);
  }
  const audit = await database.query(
    `select detail ->> 'fileId' as id from audit where subject = $1 and action = 'job.file_download' order by audit_id`,
    [`job ${jobId}`],
  );
  expect(audit.map(({ id }) => id as string)).toEqual(files.map(({ fileId }) => fileId));
});

test.each([
  'nothing',
  '..',
  '..%2F..%2Fetc%2Fpasswd',
  '%2Fetc%2Fpasswd',
  'g1-..%2Fx',
  'files%2Fabc',
  newId(),
])('the id %s is not found', async (fileId) => {
  const api = await start();
  const jobId = await finishedJob(api, csvOf(1));
  const { status, body } = await send(api.url, 'GET', `/api/jobs/${jobId}/files/${fileId}`);
  expect(status).toBe(404);
  expect(['FILE_NOT_FOUND', 'ROUTE_NOT_FOUND']).toContain(body.code);
});

test('a file of another job is not found under this one', async () => {
  const api = await start();
  const [first, second] = [await finishedJob(api, csvOf(1)), await finishedJob(api, csvOf(2))];
  const { body } = await send(api.url, 'POST', `/api/jobs/${first}/export`);
  await api.context.background.whenIdle();
  expect((await send(api.url, 'GET', `/api/jobs/${first}/files/${body.fileId}`)).status).toBe(200);
  const foreign = await send(api.url, 'GET', `/api/jobs/${second}/files/${body.fileId}`);
  expect([foreign.status, foreign.body.code]).toEqual([404, 'FILE_NOT_FOUND']);
});

describe('an export in the background', () => {
  /** Inserts an export that no process is preparing. */
  async function waitingExport(jobId: string, changes = ''): Promise<string> {
    const exportId = newId();
    await database.query(
      `insert into exports (export_id, job_id, owner_id, request, name, content_type, generation)
       values ($1, $2, 'local', '{"format": "csv"}', 'x.csv', 'text/csv', 1)`,
      [exportId, jobId],
    );
    if (changes !== '')
      await database.query(`update exports set ${changes} where export_id = $1`, [exportId]);
    return exportId;
  }

  test('is prepared, then listed among the files, and equals a streamed one', async () => {
    const api = await start();
    const jobId = await finishedJob(api, csvOf(50));
    const query = '?format=csv&statuses=DONE&columns=n,doubled&rows=0-9';
    const { status, body } = await send(api.url, 'POST', `/api/jobs/${jobId}/export${query}`);
    expect(status).toBe(202);
    expect(jobFile.parse(body)).toEqual(body);
    expect(body).toMatchObject({ kind: 'export', state: 'PREPARING', bytes: null, generation: 1 });
    await api.context.background.whenIdle();
    const file = (await filesOf(api.url, jobId)).find(({ fileId }) => fileId === body.fileId)!;
    expect(file).toMatchObject({ state: 'READY', rows: 10, expiresAt: expect.any(String) });
    const streamed = await send(api.url, 'GET', `/api/jobs/${jobId}/export${query}`);
    const fetched = await send(api.url, 'GET', `/api/jobs/${jobId}/files/${body.fileId}`);
    expect(fetched.body).toBe(streamed.body);
    const audit = await database.query(
      `select actor from audit where subject = $1 and action = 'job.export_prepare'`,
      [`job ${jobId}`],
    );
    expect(audit).toEqual([{ actor: 'local' }]);
  });

  test('that is not ready yet cannot be fetched', async () => {
    const api = await start();
    const jobId = await finishedJob(api, csvOf(1));
    const lease = `prepare_token = gen_random_uuid(), prepare_expires_at = now() + interval '1 hour', attempts = 1`;
    const exportId = await waitingExport(jobId, lease);
    const early = await send(api.url, 'GET', `/api/jobs/${jobId}/files/${exportId}`);
    expect([early.status, early.body.code]).toEqual([409, 'EXPORT_NOT_READY']);
    // The lease of another process is respected until it expires.
    expect(await runExports(api.context.engine, never)).toBe(0);
    await database.query('update exports set prepare_expires_at = now() where export_id = $1', [exportId]);
    expect(await runExports(api.context.engine, never)).toBe(1);
    expect((await send(api.url, 'GET', `/api/jobs/${jobId}/files/${exportId}`)).status).toBe(200);
  });

  test('is prepared once, however many processes look for it', async () => {
    const api = await start();
    const other = await start();
    const jobId = await finishedJob(api, csvOf(20));
    await waitingExport(jobId);
    const made = await Promise.all(
      [api, other, api, other].map(({ context }) => runExports(context.engine, never)),
    );
    expect(made.reduce((sum, count) => sum + count)).toBe(1);
    const [row] = await database.query('select state, attempts from exports where job_id = $1', [jobId]);
    expect(row).toEqual({ state: 'READY', attempts: 1 });
  });

  test('that crashes its process repeatedly fails', async () => {
    const api = await start();
    const jobId = await finishedJob(api, csvOf(1));
    const lease = `prepare_token = gen_random_uuid(), prepare_expires_at = now(), attempts = 5`;
    const exportId = await waitingExport(jobId, lease);
    await runExports(api.context.engine, never);
    const file = (await filesOf(api.url, jobId)).find(({ fileId }) => fileId === exportId)!;
    expect(file).toMatchObject({ state: 'FAILED', error: expect.stringContaining('5 times') });
  });

  test('whose process lost its lease removes its file', async () => {
    const api = await start();
    const jobId = await finishedJob(api, csvOf(5));
    const exportId = await waitingExport(jobId);
    const { engine } = api.context;
    const blobs = withMethods(engine.blobs, {
      async verify(blob) {
        // Another process takes over while this one is at its last step.
        await database.query(`update exports set prepare_token = gen_random_uuid() where export_id = $1`, [
          exportId,
        ]);
        return engine.blobs.verify(blob);
      },
    });
    await runExports({ ...engine, blobs }, never);
    const [row] = await database.query('select state from exports where export_id = $1', [exportId]);
    expect(row).toEqual({ state: 'PREPARING' });
    const left: string[] = [];
    for await (const { key } of engine.blobs.list(`exports/${jobId}/`)) left.push(key);
    expect(left).toEqual([]);
  });

  test('is removed when it expires', async () => {
    const api = await start();
    const jobId = await finishedJob(api, csvOf(1));
    const { body } = await send(api.url, 'POST', `/api/jobs/${jobId}/export?format=jsonl`);
    await api.context.background.whenIdle();
    await database.query('update exports set expires_at = now() where export_id = $1', [body.fileId]);
    const over = await send(api.url, 'GET', `/api/jobs/${jobId}/files/${body.fileId}`);
    expect([over.status, over.body.code]).toEqual([404, 'FILE_NOT_FOUND']);
    await pruneExports(api.context.engine);
    expect(await database.query('select 1 from exports where export_id = $1', [body.fileId])).toEqual([]);
    const left: string[] = [];
    for await (const { key } of api.context.engine.blobs.list(`exports/${jobId}/`)) left.push(key);
    expect(left).toEqual([]);
  });

  test('is refused if its owner has reached the limit', async () => {
    await database.query('delete from exports');
    const api = await start({ exportsAtOnce: 1 });
    const jobId = await finishedJob(api, csvOf(1));
    const lease = `prepare_token = gen_random_uuid(), prepare_expires_at = now() + interval '1 hour', attempts = 1`;
    const exportId = await waitingExport(jobId, lease);
    const { status, body, headers } = await send(api.url, 'POST', `/api/jobs/${jobId}/export`);
    expect([status, body.code]).toEqual([429, 'TOO_MANY_EXPORTS']);
    expect(body.message).toContain('exportsAtOnce');
    expect(headers.get('retry-after')).not.toBeNull();
    await database.query('delete from exports where export_id = $1', [exportId]);
    // While no process prepares exports, one of several concurrent requests succeeds.
    const job = { jobId, ownerId: 'local' };
    const many = await Promise.allSettled(
      Array.from({ length: 5 }, () => prepareExport(api.context.engine, job, { format: 'csv' })),
    );
    expect(many.filter(({ status: how }) => how === 'fulfilled')).toHaveLength(1);
  });
});

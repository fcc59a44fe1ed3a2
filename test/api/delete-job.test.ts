// Changes and deletes jobs over HTTP.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { deleteJob, removeRemains } from '../../src/engine/jobs/delete-job.ts';
import { newId } from '../../src/platform/random.ts';
import { csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const pipelines = [doubling];
const blobStore = mkdtempSync(join(tmpdir(), 'rowmill-delete-'));
afterAll(() => rmSync(blobStore, { recursive: true, force: true }));

function start(settings = {}): Promise<RunningApi> {
  return startTestApi(database.url, { pipelines, settings: { blobStore, sweepMs: 60_000, ...settings } });
}

/** Creates a job and runs it to its end. */
async function finishedJob({ url, context }: RunningApi, text: string, options = {}): Promise<string> {
  const { body } = await send(
    url,
    'POST',
    '/api/jobs',
    uploadForm({ pipeline: 'doubling', ...options }, text),
  );
  await context.background.whenIdle();
  const slice = await send(url, 'POST', `/api/jobs/${body.jobId}/slice?durationMs=60000`);
  expect(slice.body.finished).toBe(true);
  return body.jobId as string;
}

/** Counts the rows of the job per table; events and their deliveries are kept for a while. */
async function rowsOf(jobId: string): Promise<Record<string, number>> {
  const tables = await database.query<{ table_name: string }>(
    `select table_name from information_schema.columns where table_schema = 'public' and column_name = 'job_id'
     and table_name not in ('source_files', 'job_events', 'deliveries')`,
  );
  const counts: Record<string, number> = {};
  for (const { table_name: table } of tables) {
    const [row] = await database.query<{ n: string }>(
      `select count(*) as n from ${table} where job_id = $1`,
      [jobId],
    );
    if (row!.n !== '0') counts[table] = Number(row!.n);
  }
  return counts;
}

function blobFiles(): string[] {
  if (!existsSync(blobStore)) return [];
  return readdirSync(blobStore, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
}

describe('a deleted job', () => {
  test('leaves only the audit entry', async () => {
    const api = await start();
    const jobId = await finishedJob(api, `${csvOf(30)}\n13,broken\n1,2,3,4\n`);
    const prepared = await send(api.url, 'POST', `/api/jobs/${jobId}/export`);
    expect(prepared.status).toBe(202);
    await api.context.background.whenIdle();
    expect(Object.keys(await rowsOf(jobId))).toEqual(
      expect.arrayContaining(['jobs', 'items', 'results', 'ledger', 'summaries', 'rejected_rows', 'exports']),
    );
    expect(blobFiles().length).toBeGreaterThan(3);
    const { status } = await send(api.url, 'DELETE', `/api/jobs/${jobId}`);
    expect(status).toBe(204);
    const second = await send(api.url, 'DELETE', `/api/jobs/${jobId}`);
    expect([second.status, second.body.code]).toEqual([404, 'JOB_NOT_FOUND']);
    await api.context.background.whenIdle();
    expect(await rowsOf(jobId)).toEqual({});
    expect(blobFiles()).toEqual([]);
    const audit = await database.query(
      `select actor, action, detail ->> 'itemCount' as items from audit where subject = $1 and action = 'job.delete'`,
      [`job ${jobId}`],
    );
    expect(audit).toEqual([{ actor: 'local', action: 'job.delete', items: '31' }]);
  });

  test('leaves the file of another job alone', async () => {
    const api = await start();
    const first = await finishedJob(api, csvOf(3, 100));
    const second = await finishedJob(api, csvOf(3, 100), { again: true });
    await send(api.url, 'DELETE', `/api/jobs/${first}`);
    await api.context.background.whenIdle();
    const input = await send(api.url, 'GET', `/api/jobs/${second}/files/input`);
    expect([input.status, input.body]).toEqual([200, csvOf(3, 100)]);
    await send(api.url, 'DELETE', `/api/jobs/${second}`);
    await api.context.background.whenIdle();
    expect(blobFiles()).toEqual([]);
  });

  test('is gone immediately, and its rows are removed in steps that another process can resume', async () => {
    const api = await start();
    const jobId = await finishedJob(api, csvOf(95, 200));
    const { engine } = api.context;
    await deleteJob(engine, jobId);
    expect((await send(api.url, 'POST', `/api/jobs/${jobId}/pause`)).status).toBe(404);
    // Interrupted after the first step.
    const stopped = new AbortController();
    const db = engine.db;
    const run = db.run.bind(db);
    Object.assign(db, {
      run: async (...args: Parameters<typeof run>) => {
        const answer = await run(...args);
        if (args[0].name === 'remove-job-rows') stopped.abort();
        return answer;
      },
    });
    await removeRemains(engine, { signal: stopped.signal, rowsPerStep: 10 });
    Object.assign(db, { run });
    const left = await rowsOf(jobId);
    expect(left).toMatchObject({ items: 85, job_removals: 1 });
    // A block of results goes with its first row.
    expect(left.results).toBeLessThanOrEqual(85);
    // The same file would be the same job, so it is refused until the old one is gone.
    const same = () =>
      send(api.url, 'POST', '/api/jobs', uploadForm({ pipeline: 'doubling', hold: true }, csvOf(95, 200)));
    const early = await same();
    expect([early.status, early.body.code]).toEqual([409, 'JOB_CONFLICT']);
    await Promise.all([
      removeRemains(engine, { rowsPerStep: 10 }),
      removeRemains(engine, { rowsPerStep: 7 }),
    ]);
    expect(await rowsOf(jobId)).toEqual({});
    const late = await same();
    expect([late.status, late.body]).toEqual([202, { jobId, created: true }]);
    await api.context.background.whenIdle();
    expect(await rowsOf(jobId)).toMatchObject({ items: 95 });
  });

  test('must have been finished for the configured time', async () => {
    const api = await start({ jobRetentionMinMs: 3_600_000 });
    const made = await send(api.url, 'POST', '/api/jobs', { pipeline: 'doubling', items: [{ n: 1 }] });
    const remove = () => send(api.url, 'DELETE', `/api/jobs/${made.body.jobId}`);
    const open = await remove();
    expect([open.status, open.body.code]).toEqual([409, 'JOB_CONFLICT']);
    await send(api.url, 'POST', `/api/jobs/${made.body.jobId}/slice?durationMs=60000`);
    const retained = await remove();
    expect([retained.status, retained.body.code]).toEqual([409, 'JOB_RETAINED']);
    expect(retained.body.message).toContain('jobRetentionMinMs');
    await database.query(`update jobs set finished_at = now() - interval '2 hours' where job_id = $1`, [
      made.body.jobId,
    ]);
    expect((await remove()).status).toBe(204);
  });

  test('is deleted by exactly one of many requests', async () => {
    const api = await start();
    const jobId = await finishedJob(api, csvOf(2, 400));
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => send(api.url, 'DELETE', `/api/jobs/${jobId}`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404, 404]);
  });
});

describe('a change', () => {
  test('of name, priority and budget is audited in the same transaction', async () => {
    const api = await start();
    const made = await send(api.url, 'POST', '/api/jobs', {
      pipeline: 'doubling',
      items: [{ n: 1 }],
      name: 'old',
    });
    const { jobId } = made.body;
    const changed = await send(api.url, 'PATCH', `/api/jobs/${jobId}`, { name: 'new', priority: 7 });
    expect([changed.status, changed.body]).toMatchObject([200, { jobId, name: 'new', priority: 7 }]);
    const [job] = await database.query('select name, priority from jobs where job_id = $1', [jobId]);
    expect(job).toEqual({ name: 'new', priority: 7 });
    const audit = await database.query(
      `select actor, detail from audit where subject = $1 and action = 'job.change'`,
      [`job ${jobId}`],
    );
    expect(audit).toEqual([{ actor: 'local', detail: { name: 'new', priority: 7 } }]);
  });

  test.each([
    [{ priority: 40_000 }, 400, 'REQUEST_INVALID'],
    [{ ownerId: 'me' }, 400, 'REQUEST_INVALID'],
    [{ name: '' }, 400, 'REQUEST_INVALID'],
    [{ name: 'a\0b' }, 400, 'REQUEST_INVALID'],
    [{ budget: { max: 5 } }, 400, 'BUDGET_INVALID'],
  ])('to %j is refused', async (change, status, code) => {
    const api = await start();
    const made = await send(api.url, 'POST', '/api/jobs', { pipeline: 'doubling', items: [{ n: 1 }] });
    const answer = await send(api.url, 'PATCH', `/api/jobs/${made.body.jobId}`, change);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  test('of a missing job is not found', async () => {
    const { url } = await start();
    const { status, body } = await send(url, 'PATCH', `/api/jobs/${newId()}`, { name: 'x' });
    expect([status, body.code]).toEqual([404, 'JOB_NOT_FOUND']);
  });
});

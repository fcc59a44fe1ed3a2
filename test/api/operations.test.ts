// Operations over HTTP: pipelines, workers, resources, owners, sources, health, metrics, and the interactive API page.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ROUTES } from '../../src/contract/routes.ts';
import { definePipeline, openRowmill, type Rowmill, resource } from '../../src/index.ts';
import type { SourceConfig } from '../../src/ingest/sources/source-config.ts';
import { Events } from '../../src/platform/events.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { newId } from '../../src/platform/random.ts';
import { readWorker } from '../../src/store/views/jobs/read-worker.ts';
import { capturedLog } from '../../src/testing/captured-log.ts';
import { addUser, sessionHeaders } from '../support/account-factory.ts';
import { apiReader } from '../support/api-reader.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { unknownMetrics } from '../support/named-metrics.ts';
import { sendRequest } from '../support/send-request.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

const prices = definePipeline({
  name: 'prices',
  version: '2',
  input: z.object({ article: z.string(), amount: z.coerce.number().default(1) }),
  key: 'article',
  summary: ['article'],
  resources: { shop: { concurrency: 5 } },
  phases: [
    {
      name: 'look',
      concurrency: 7,
      cost: 0.5,
      resources: [resource('shop', () => 'eu')],
      run: ({ article }) => ({ article }),
    },
    { name: 'price', priority: 3, run: () => ({ price: 1 }) },
  ],
});
const anything = definePipeline({ name: 'anything', phases: [{ name: 'only', run: () => ({}) }] });
const foreignSchema = definePipeline({
  name: 'foreign',
  input: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => ({ type: 'object', title: 'Foreign' }) },
    },
  } as never,
  phases: [{ name: 'only', run: () => ({}) }],
});

let rowmill: Rowmill;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
});
afterAll(() => rowmill.close());

describe('the running parts', () => {
  test('include pipelines, with the schema of their rows if available', async () => {
    const { url } = await startTestApi(database.url, { pipelines: [prices, anything, foreignSchema] });
    const { items } = await apiReader(url).read('listPipelines');
    expect(items[0]).toMatchObject({
      name: 'prices',
      version: '2',
      phases: [
        { name: 'look', concurrency: 7, priority: 0 },
        { name: 'price', concurrency: null, priority: 3 },
      ],
      input: { type: 'object', required: ['article'], properties: { article: { type: 'string' } } },
      params: null,
      key: ['article'],
      resources: ['shop'],
      paid: true,
    });
    expect(items[1]).toMatchObject({ name: 'anything', version: null, input: null, paid: false });
    expect(items[2]).toMatchObject({ name: 'foreign', input: { title: 'Foreign' } });
  });

  test('include workers, with the state of their slots and their number of items', async () => {
    const { url } = await startTestApi(database.url);
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let started = (): void => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const slow = definePipeline({
      name: 'slow',
      phases: [
        {
          name: 'hold',
          concurrency: 2,
          run: async () => {
            started();
            await held;
            return {};
          },
        },
      ],
    });
    const worker = await rowmill.startWorker([slow], {
      name: 'mill 3',
      settings: { heartbeatMs: 100 } as never,
    });
    await rowmill.submit(slow, [{ n: 1 }]);
    await running;
    const reader = apiReader(url);
    const mill = async () => (await reader.read('listWorkers')).items.find(({ name }) => name === 'mill 3')!;
    await expect.poll(async () => (await mill()).pools[0]?.busy).toBe(1);
    expect(await mill()).toMatchObject({
      alive: true,
      leasedItems: 1,
      pipelines: ['slow'],
      pools: [{ pipeline: 'slow', phase: 'hold', idle: 1, busy: 1, error: 0, queued: 0, waiting: 0 }],
      pressure: { share: expect.any(Number), reason: expect.any(String) },
    });
    const listed = (await reader.read('listWorkers')).items.find(({ name }) => name === 'mill 3')!;
    const shown = await reader.read('getWorker', { workerId: listed.workerId });
    expect(shown).toMatchObject({
      name: 'mill 3',
      abilities: [{ pipeline: 'slow', version: null }],
      leasedItems: 1,
      leases: [{ phase: 'hold', rows: 1 }],
      rowsLastMinute: 0,
      lastFlushAt: null,
    });
    expect(shown.memoryBytes).toBeGreaterThan(1_000_000);
    expect(Date.parse(shown.leases[0]!.expiresAt)).toBeGreaterThan(Date.now());
    const missing = await fetch(`${url}/api/workers/00000000-0000-4000-8000-000000000000`);
    expect([missing.status, ((await missing.json()) as { code: string }).code]).toEqual([
      404,
      'WORKER_NOT_FOUND',
    ]);
    await database.query(
      `insert into workers (worker_id, name, version, pipelines, heartbeat_at)
       values (gen_random_uuid(), 'mill 0', '1', '{}', now() - interval '1 hour')`,
    );
    const { items } = await reader.read('listWorkers');
    expect(items.at(-1)).toMatchObject({ name: 'mill 0', alive: false, pools: [], pressure: null });
    expect((await reader.read('getStats')).workersAlive).toBeGreaterThanOrEqual(1);
    release();
    await worker.stop();
  });

  test('show the leases and throughput of a worker, without the jobs of other owners', async () => {
    const context = database.context();
    const workerId = newId();
    const [own, foreign] = [newId(), newId()];
    const insert = async (ownerId: string, rows: number): Promise<void> => {
      const jobId = await jobWithItems(context, { items: rows });
      await database.query('update jobs set owner_id = $2 where job_id = $1', [jobId, ownerId]);
      await database.query(
        `update spans set worker_id = $2, token = gen_random_uuid(), expires_at = now() + interval '1 minute' where job_id = $1`,
        [jobId, workerId],
      );
      await database.query(
        `insert into ledger (job_id, entry_id, generation, phase, worker_id, done) values ($1, gen_random_uuid(), 1, 0, $2, 4)`,
        [jobId, workerId],
      );
    };
    await insert(own, 2);
    await insert(foreign, 3);
    await database.query(
      `insert into workers (worker_id, name, version, pipelines) values ($1, 'mill 9', '1', '{}')`,
      [workerId],
    );
    const read = (owners: string[] | null) => readWorker(context.db, { workerId, silentMs: 60_000, owners });
    expect(await read([own])).toMatchObject({ leasedItems: 5, leases: [{ rows: 2 }], rowsLastMinute: 8 });
    expect((await read(null))!.leases.map(({ rows }) => rows).sort()).toEqual([2, 3]);
    expect((await read([]))!.leases).toEqual([]);
    expect((await read(null))!.lastFlushAt).toBeInstanceOf(Date);
  });
});

describe('limits', () => {
  test('of resources are listed and overridden, with an audit entry', async () => {
    const { url } = await startTestApi(database.url);
    const changed = await fetch(`${url}/api/resources/shop`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ concurrency: 2, paused: true }),
    });
    expect(changed.status).toBe(200);
    expect(await changed.json()).toEqual({ override: { concurrency: 2, paused: true } });
    const reader = apiReader(url);
    const { items } = await reader.read('listResources', {}, { name: 'shop' });
    expect(items).toMatchObject([
      { name: 'shop', key: '', state: 'paused', override: { concurrency: 2, paused: true } },
    ]);
    const audit = await reader.read('listAudit', {}, { subject: 'resource shop' });
    expect(audit.items).toMatchObject([{ actor: 'local', action: 'resource.override' }]);
    const refused = await fetch(`${url}/api/resources/shop`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    expect(await refused.json()).toMatchObject({ code: 'RESOURCE_INVALID' });
    const hostile = await fetch(`${url}/api/resources/shop`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key: 'a\0b', paused: true }),
    });
    expect(hostile.status).toBe(400);
  });

  test('of owners are listed and changed', async () => {
    const { url } = await startTestApi(database.url);
    const changed = await fetch(`${url}/api/owners/ada`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ weight: 3, maxInFlight: 50 }),
    });
    expect(await changed.json()).toMatchObject({ weight: 3, maxInFlight: 50 });
    const { items } = await apiReader(url).read('listOwners');
    expect(items.find(({ ownerId }) => ownerId === 'ada')).toEqual({
      ownerId: 'ada',
      weight: 3,
      maxRunningJobs: null,
      maxInFlight: 50,
      budgetTotal: null,
      budgetPerDay: null,
      keepDays: null,
      openJobs: 0,
      runningJobs: 0,
      itemsWaiting: 0,
      itemsInFlight: 0,
    });
    const client = apiReader(url);
    const answer = await fetch(`${url}/api/owners/ada`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ budgetTotal: 500, budgetPerDay: 20 }),
    });
    expect(await answer.json()).toEqual({ budgetTotal: 500, budgetPerDay: 20 });
    const owners = (await client.read('listOwners')).items;
    expect(owners.find(({ ownerId }) => ownerId === 'ada')).toMatchObject({
      ...{ weight: 3, maxInFlight: 50, budgetTotal: 500, budgetPerDay: 20 },
    });
  });

  test('of owners have the documented bounds', async () => {
    const { url } = await startTestApi(database.url);
    const { properties } = z.toJSONSchema(ROUTES.changeOwner.body) as unknown as {
      properties: Record<string, { maximum?: number; anyOf?: { maximum?: number }[] }>;
    };
    for (const [name, { maximum, anyOf }] of Object.entries(properties)) {
      const most = maximum ?? anyOf?.find((each) => each.maximum !== undefined)?.maximum;
      const change = async (value: number): Promise<number> => {
        const answer = await fetch(`${url}/api/owners/limits`, {
          method: 'PATCH',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ [name]: value }),
        });
        await answer.arrayBuffer();
        return answer.status;
      };
      expect([name, await change(most!), await change(most! + 1)]).toEqual([name, 200, 400]);
    }
  });
});

describe('the audit log', () => {
  test('is paged newest first, by subject or actor', async () => {
    const { url } = await startTestApi(database.url);
    await database.query(
      `insert into audit (actor, action, subject, detail)
       select case when n % 2 = 0 then 'eve' else 'bob' end, 'test', 'thing ' || n % 3, jsonb_build_object('n', n)
       from generate_series(0, 11) n`,
    );
    const reader = apiReader(url);
    const numbers = async (query: Record<string, string | number>) =>
      (await reader.pages('listAudit', {}, { ...query, pageSize: 2 })).flatMap(({ items }) =>
        items.map(({ detail }) => (detail as { n: number }).n),
      );
    expect(await numbers({ actor: 'eve' })).toEqual([10, 8, 6, 4, 2, 0]);
    expect(await numbers({ subject: 'thing 1' })).toEqual([10, 7, 4, 1]);
    expect(await numbers({ subject: 'thing 1', actor: 'bob' })).toEqual([7, 1]);
    expect((await numbers({})).slice(0, 12)).toEqual([11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  });
});

describe('statistics and metrics', () => {
  test("cover the caller's jobs, or all jobs", async () => {
    const { url, context } = await startTestApi(database.url);
    await database.query('delete from jobs');
    await database.query('delete from spans');
    const own = await jobWithItems(context.engine, { items: 5 });
    const foreign = await jobWithItems(context.engine, { items: 7 });
    await database.query(`update jobs set owner_id = 'ada' where job_id = $1`, [foreign]);
    await database.query(
      `insert into ledger (job_id, entry_id, generation, phase, at, done, error, cost)
       select job_id, gen_random_uuid(), 1, 0, now() - interval '2 seconds', 3, 1, 0.25 from unnest($1::uuid[]) as j(job_id)`,
      [[own, foreign]],
    );
    const reader = apiReader(url);
    expect(await reader.read('getStats')).toMatchObject({
      jobs: { INGESTING: 1 },
      pending: 5,
      processing: 0,
      endedLastMinute: 4,
      failedLastMinute: 1,
    });
    expect(await reader.read('getStats', {}, { all: true })).toMatchObject({
      jobs: { INGESTING: 2 },
      pending: 12,
      endedLastMinute: 8,
    });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('rowmill_jobs{state="INGESTING"} 2');
    expect(metrics).toContain('rowmill_pending_items 12');
    expect(metrics).toContain('# TYPE rowmill_database_transactions gauge');
  });

  test.each(['deploy/grafana-dashboard.json', 'deploy/prometheus-alerts.yml', 'docs/operating.md'])(
    'have the names and labels that %s uses',
    async (path) => {
      const { context } = await startTestApi(database.url);
      const sources = { bufferFullness: () => 0, databases: [], pools: () => [] };
      const worker = createMetrics(new Events(), sources);
      const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
      // Unescapes quotes in JSON.
      const queries = text.replaceAll('\\"', '"');
      expect(queries).toMatch(/rowmill_\w+\{/);
      expect(unknownMetrics(queries, [context.metrics.registry, worker.registry])).toEqual([]);
      expect(unknownMetrics('rowmill_flush{a} rowmill_jobs{status="x"} by (kid)', [worker.registry])).toEqual(
        ['rowmill_flush', 'rowmill_jobs', 'by kid'],
      );
      worker.stop();
    },
  );

  test('are recounted for a scrape only after metricsCacheMs', async () => {
    const pendingOf = async (url: string): Promise<number> => {
      const text = await (await fetch(`${url}/metrics`)).text();
      return Number(/^rowmill_pending_items (\d+)$/m.exec(text)![1]);
    };
    const cached = await startTestApi(database.url);
    const fresh = await startTestApi(database.url, { settings: { metricsCacheMs: 0 } });
    const before = await pendingOf(cached.url);
    expect(await pendingOf(fresh.url)).toBe(before);
    await jobWithItems(fresh.context.engine, { items: 3 });
    expect(await pendingOf(cached.url)).toBe(before);
    expect(await pendingOf(fresh.url)).toBe(before + 3);
  });
});

describe('the server', () => {
  test('logs the events of jobs', async () => {
    const lines: string[] = [];
    const log = capturedLog(
      ({ level, message, fields }) => lines.push(`${level} ${message} ${String(fields.jobId)}`),
      null,
    );
    const { url, context } = await startTestApi(database.url, { log });
    const jobId = await jobWithItems(context.engine, { items: 1 });
    for (const action of ['pause', 'resume', 'cancel'])
      expect((await fetch(`${url}/api/jobs/${jobId}/${action}`, { method: 'POST' })).ok, action).toBe(true);
    await context.background.whenIdle();
    await expect.poll(() => lines).toContain(`info job finished ${jobId}`);
    for (const change of ['created', 'paused', 'resumed', 'cancelled'])
      expect(lines).toContain(`info job ${change} ${jobId}`);
  });

  test('shows its configuration to clients', async () => {
    const { url } = await startTestApi(database.url, { settings: { pendingDashboard: 'on' } });
    expect(await apiReader(url).read('getConfiguration')).toMatchObject({
      authentication: 'none',
      features: { pendingDashboard: true },
      limits: { pageSizeMax: 200, uploadMaxBytes: expect.any(Number) },
    });
  });

  test('is ready if the database has the schema of this version', async () => {
    const { url } = await startTestApi(database.url);
    const reader = apiReader(url);
    expect(await reader.read('getReadiness')).toEqual({ ok: true });
    await database.query(
      `insert into rowmill_migrations (version, name, checksum) values (9999, 'later', 'x')`,
    );
    expect(await reader.refusal('getReadiness')).toMatchObject({ status: 503, code: 'DATABASE_NEWER' });
    await database.query('delete from rowmill_migrations where version = 9999');
    const [last] = await database.query(
      `delete from rowmill_migrations where version = (select max(version) from rowmill_migrations) returning *`,
    );
    expect(await reader.refusal('getReadiness')).toMatchObject({
      status: 503,
      code: 'DATABASE_NOT_MIGRATED',
    });
    await database.query(
      'insert into rowmill_migrations select * from jsonb_populate_record(null::rowmill_migrations, $1)',
      [JSON.stringify(last)],
    );
    expect(await reader.read('getReadiness')).toEqual({ ok: true });
  });

  test('is not ready without its database, and sends Retry-After', async () => {
    const { url, context } = await startTestApi(database.url);
    context.engine.db.destroy();
    const response = await fetch(`${url}/readyz`);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await response.json()).toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test('has an interactive API page without inline scripts', async () => {
    const { url } = await startTestApi(database.url);
    const page = await fetch(`${url}/api/docs/`);
    const html = await page.text();
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self';");
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)/);
    const scripts = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
    expect(scripts.length).toBeGreaterThan(3);
    for (const path of scripts) {
      const file = await fetch(new URL(path, `${url}/api/docs/`));
      expect(`${path} ${file.status}`).toBe(`${path} 200`);
      await file.arrayBuffer();
    }
    const document = (await (await fetch(`${url}/api/docs/json`)).json()) as { openapi: string };
    expect(document.openapi).toBe('3.1.0');
  });
});

describe('below a base path', () => {
  const settings = { apiPublicUrl: 'https://example.org/tools/rows' };

  test.each(['', '/tools/rows'])(
    'the interactive API page finds its files if the proxy passes the prefix %j',
    async (left) => {
      const { url } = await startTestApi(database.url, { settings });
      const origin = new URL(url).origin;
      for (const address of ['/api/docs', '/api/docs/']) {
        const html = await (await fetch(`${origin}${left}${address}`)).text();
        const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path!);
        expect(files.length).toBeGreaterThan(3);
        for (const path of files) {
          // The URL a browser requests, which knows only the public URL.
          const asked = new URL(path, `${settings.apiPublicUrl}${address}`).pathname;
          expect(asked).toMatch(/^\/tools\/rows\/api\/docs\/static\//);
          const file = await fetch(`${origin}${asked.slice(left === '' ? '/tools/rows'.length : 0)}`);
          expect(`${asked} ${file.status}`).toBe(`${asked} 200`);
          await file.arrayBuffer();
        }
      }
    },
  );

  test('the OpenAPI document has the base path', async () => {
    const { url } = await startTestApi(database.url, { settings });
    const { origin } = new URL(url);
    for (const address of ['/tools/rows/api/openapi.json', '/tools/rows/api/docs/json']) {
      const document = (await (await fetch(`${origin}${address}`)).json()) as { servers: unknown };
      expect(document.servers).toEqual([{ url: '/tools/rows' }]);
    }
    const { url: plain } = await startTestApi(database.url);
    expect(await (await fetch(`${plain}/api/openapi.json`)).json()).not.toHaveProperty('servers');
  });
});

test('samples are sent by name, and no other file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-samples-'));
  writeFileSync(join(folder, 'rows.csv'), 'sku\nä\n');
  writeFileSync(join(folder, 'secret.csv'), 'secret');
  const gone = join(folder, 'gone.csv');
  const { url } = await startTestApi(database.url, { samples: [join(folder, 'rows.csv'), gone] });
  expect(await apiReader(url).read('getConfiguration')).toMatchObject({ samples: ['rows.csv', 'gone.csv'] });
  expect(await (await fetch(`${url}/api/samples/rows.csv`)).text()).toBe('sku\nä\n');
  for (const name of [
    'secret.csv',
    'gone.csv',
    '..%2Fsecret.csv',
    encodeURIComponent(join(folder, 'rows.csv')),
  ]) {
    const answer = await fetch(`${url}/api/samples/${name}`);
    expect([name, answer.status, await answer.json()]).toMatchObject([name, 404, { code: 'FILE_NOT_FOUND' }]);
  }
  rmSync(folder, { recursive: true });
});

describe('sources', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-sources-'));
  const sources: SourceConfig[] = [
    { name: 'incoming', kind: 'folder', pipeline: 'anything', path: join(folder, 'in'), stableMs: 0 },
  ];
  beforeAll(() => mkdirSync(join(folder, 'in')));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const scan = (url: string, query = '') => fetch(`${url}/api/ingestion/scan${query}`, { method: 'POST' });

  test('are empty unless configured', async () => {
    const { url } = await startTestApi(database.url);
    expect(await apiReader(url).read('listSources')).toMatchObject({ items: [], next: null });
    expect(await (await scan(url)).json()).toEqual({ items: [] });
  });

  test('are listed without their files, which become jobs on request', async () => {
    const { url } = await startTestApi(database.url, { pipelines: [anything], sources });
    expect(await apiReader(url).read('listSources')).toMatchObject({
      items: [{ name: 'incoming', kind: 'folder', pipeline: 'anything' }],
    });
    writeFileSync(join(folder, 'in', 'rows.csv'), 'a,b\n1,2\n3,4\n');
    const body = (await (await scan(url, '?sources=incoming')).json()) as {
      items: { jobs: { jobId: string; path: string }[] }[];
    };
    expect(body.items).toMatchObject([
      {
        source: 'incoming',
        found: 1,
        waiting: 0,
        failed: [],
        jobs: [{ path: expect.stringContaining('rows.csv') }],
      },
    ]);
    const job = await apiReader(url).read('getJob', { jobId: body.items[0]!.jobs[0]!.jobId });
    expect(job).toMatchObject({ itemCount: 2, sealed: true });
    expect(await (await scan(url)).json()).toMatchObject({ items: [{ found: 0, jobs: [] }] });
    const { items } = await apiReader(url).read('listAudit', {}, { subject: 'sources' });
    expect(items[0]).toMatchObject({
      action: 'sources.scan',
      detail: { sources: ['incoming'] },
      requestId: expect.any(String),
      address: '127.0.0.1',
    });
  });

  test('of another owner, or without owner, are not listed', async () => {
    const owned = (name: string, owner: string): SourceConfig => ({ ...sources[0]!, name, owner });
    const { url } = await startTestApi(database.url, {
      sources: [...sources, owned('mine', 'source-member'), owned('theirs', 'somebody-else')],
      settings: { authentication: 'password' },
    });
    const namesFor = async (userId: string): Promise<string[]> => {
      const { body } = await sendRequest(`${url}/api/sources`, {
        headers: await sessionHeaders(database, userId),
      });
      return (body!.items as { name: string }[]).map(({ name }) => name);
    };
    await addUser(database, 'source-member');
    await addUser(database, 'source-admin', { role: 'admin' });
    expect(await namesFor('source-member')).toEqual(['mine']);
    expect(await namesFor('source-admin')).toEqual(['incoming', 'mine', 'theirs']);
  });

  test('that are missing, or whose pipeline is missing, are refused', async () => {
    const { url } = await startTestApi(database.url, { sources });
    expect(await (await scan(url, '?sources=other')).json()).toMatchObject({ code: 'SOURCE_NOT_FOUND' });
    expect(await (await scan(url)).json()).toMatchObject({ code: 'PIPELINE_NOT_FOUND' });
  });
});

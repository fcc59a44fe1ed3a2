// A server on an ordinary day: people, jobs in all states, failures, costs, images, webhooks, workers, limits. The
// product itself creates all of it; only times are moved into the past afterwards.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startApi } from '../../src/api/start-api.ts';
import { type Client, createClient } from '../../src/client/index.ts';
import { openRowmill, type RowmillWorker } from '../../src/index.ts';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { loadSettings } from '../../src/platform/settings.ts';
import { migrate } from '../../src/store/migrate.ts';
import { capturedLog } from '../../src/testing/captured-log.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';
import { makeShownJobs, type ShownJobs } from './make-shown-jobs.ts';
import { shiftAccounts, sortAudit } from './shift-times.ts';
import { crawlShop, describeProducts, nameColours, priceLookup, translateTitles } from './shown-pipelines.ts';

const PASSWORD = 'quiet harbour lantern';
const RUNNABLE = [priceLookup, describeProducts, nameColours, crawlShop];

export interface ShownServer {
  url: string;
  setupToken: string;
  /** Session cookies. */
  cookies: Record<'ada' | 'ben', { name: string; value: string }>;
  jobs: ShownJobs;
  webhookId: string;
  stop(): Promise<void>;
}

/** `onEmpty` is called before any account or job exists. */
export async function startShownServer(
  onEmpty: (server: { url: string; setupToken: string }) => Promise<void> = async () => {},
): Promise<ShownServer> {
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-shown-'));
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'database') });
  await migrate(postgres.url);
  const settings = {
    authentication: 'password',
    apiPort: 0,
    apiRequestsPerSecond: 10_000,
    apiRequestBurst: 100_000,
    pendingDashboard: 'on',
    webhookAllow: '127.0.0.0/8',
    blobStore: join(folder, 'blobs'),
  } as const;
  let setupToken = '';
  const api = await startApi({
    databaseUrl: postgres.url,
    pipelines: [...RUNNABLE, translateTitles],
    settings: loadSettings({ flags: settings, environment: {} }),
    log: capturedLog(({ fields }) => {
      if ('setupToken' in fields) setupToken = String(fields.setupToken);
    }, null),
  });
  const { url } = api;
  await onEmpty({ url, setupToken });

  const cookieOf = async (path: string, body: object) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify(body),
    });
    const [name, value] = (answer.headers.get('set-cookie') ?? '').split(';')[0]!.split('=');
    if (!name || !value) throw new Error(`expected ${path} to sign in, got ${answer.status}`);
    return { name, value };
  };
  const clientOf = (cookie: { name: string; value: string }): Client =>
    createClient({
      baseUrl: url,
      headers: { cookie: `${cookie.name}=${cookie.value}`, 'sec-fetch-site': 'same-origin' },
    });
  const ada = await cookieOf('/api/setup', { token: setupToken, userId: 'ada', password: PASSWORD });
  const adas = clientOf(ada);
  await adas.createTeam({ teamId: '@catalogue' });
  await adas.createUser({ userId: 'ben', password: PASSWORD, teamId: '@catalogue' });
  await adas.createUser({ userId: 'cleo', password: PASSWORD, role: 'viewer', teamId: '@catalogue' });
  await adas.createKey({ name: 'nightly import', scopes: ['read', 'write'] });
  await adas.createKey({ name: 'dashboard', days: null });
  const ben = await cookieOf('/api/session', { userId: 'ben', password: PASSWORD });
  const bens = clientOf(ben);

  const receiver = await startWebhookReceiver();
  const broken = await startWebhookReceiver();
  broken.answer = (response) => response.writeHead(503).end('down for maintenance');
  const { webhookId } = await adas.createWebhook({
    url: receiver.url,
    description: 'Warehouse sync',
    kinds: ['job.finished', 'job.failed', 'job.paused'],
  });
  await adas.createWebhook({ url: broken.url, description: 'Price alerts' });

  const rowmill = await openRowmill({ databaseUrl: postgres.url, settings });
  const workers: RowmillWorker[] = [];
  for (const name of ['worker-1', 'worker-2'])
    workers.push(await rowmill.startWorker(RUNNABLE, { name, log: silentLogger }));
  const db = new pg.Client({ connectionString: postgres.url });
  await db.connect();
  await shiftAccounts(db);
  const jobs = await makeShownJobs({ ada: adas, ben: bens, rowmill, db });
  await sortAudit(db);

  return {
    url,
    setupToken,
    cookies: { ada, ben },
    jobs,
    webhookId,
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await rowmill.close();
      await api.stop();
      await Promise.all([receiver.close(), broken.close(), db.end()]);
      await postgres.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

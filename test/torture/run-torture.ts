// `npm run torture -- --minutes 60`: two servers, two supervised workers of two processes each, a real S3 server and
// the embedded PostgreSQL, while a nemesis kills, stops, cuts and steps clocks. Users upload files, pause, cancel and
// rerun; every row of every job is compared with its expected outcome, in the database and in the downloaded file.
// Needs Debian's packages ceph-mon, ceph-osd, ceph-common and radosgw.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { seededSequence } from '../../examples/seeded-sequence.ts';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { startRadosgw } from '../s3/start-radosgw.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { JobUser } from './job-user.ts';
import { Nemesis, pidsOf } from './nemesis.ts';
import { keepRunning } from './processes.ts';
import { startProvider } from './provider.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    users: { type: 'string', default: '3' },
  },
});
const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const PIPELINE = fileURLToPath(new URL('torture-pipeline.ts', import.meta.url));
/** After the nemesis the remaining jobs must finish within this time. */
const SETTLE_MS = 240_000;

const seed = Number(values.seed);
const random = seededSequence(seed);
const folder = mkdtempSync(join(tmpdir(), 'rowmill-torture-'));
console.log(`torture: ${values.minutes} minutes, --seed ${seed}, logs in ${folder}`);

const BUCKET = 'torture';
const store = await startRadosgw(BUCKET);
mkdirSync(join(folder, 'postgres'));
const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') });
const proxies = [
  await startFaultProxy({ target: postgres.url }),
  await startFaultProxy({ target: postgres.url }),
];
const provider = await startProvider(random);

function environment(proxy: number): Record<string, string> {
  return {
    DATABASE_URL: proxies[proxy]!.url,
    BLOB_STORE: `s3://${BUCKET}/${seed}?endpoint=${store.endpoint}`,
    PROVIDER_URL: provider.url,
    AUTHENTICATION: 'none',
    API_REQUESTS_PER_SECOND: '10000',
    LOCK_FLOOR_MS: '3000',
    LOCK_CAP_MS: '6000',
    FINALIZE_LEASE_MS: '3000',
    SWEEP_MS: '1000',
    // Longer than any fault: a worker that is stopped or cut off for longer may exceed a limit.
    RESOURCE_LEASE_MS: '20000',
    JOB_MAX_TAKEOVERS: '10000',
    LOG_LEVEL: 'info',
  };
}

const migrated = spawnSync(process.execPath, [CLI, 'migrate'], {
  env: { ...process.env, DATABASE_URL: postgres.url },
  encoding: 'utf8',
});
if (migrated.status !== 0) throw new Error(migrated.stderr);

const ports = [await freePort(), await freePort()];
const processes = [
  ...ports.map((port, at) =>
    keepRunning({
      name: `server-${at}`,
      args: ['server', PIPELINE, '--port', String(port)],
      folder,
      env: { ...environment(at), API_PUBLIC_URL: `http://127.0.0.1:${port}` },
    }),
  ),
  ...[0, 1].map((at) =>
    keepRunning({
      name: `worker-${at}`,
      args: ['worker', PIPELINE, '--processes', '2'],
      folder,
      env: environment(at),
    }),
  ),
];

const startedMs = performance.now();
const untilMs = startedMs + Number(values.minutes) * 60_000;
const nemesis = new Nemesis({
  random,
  folder,
  processes,
  proxies,
  postmasterFile: join(folder, 'postgres', 'pgdata', 'postmaster.pid'),
  storePids: pidsOf('radosgw'),
});
const users = Array.from(
  { length: Number(values.users) },
  (_, at) =>
    new JobUser({
      at,
      random,
      servers: ports.map((port) => `http://127.0.0.1:${port}`),
      databaseUrl: postgres.url,
    }),
);

function figures(): Record<string, unknown> {
  const sum = (
    key: 'jobs' | 'rows' | 'cancelled' | 'paused' | 'crashedRows' | 'requests' | 'failedRequests',
  ): number => users.reduce((total, user) => total + user.figures[key], 0);
  return {
    minutes: Math.round((performance.now() - startedMs) / 6000) / 10,
    jobs: sum('jobs'),
    rows: sum('rows'),
    cancelled: sum('cancelled'),
    paused: sum('paused'),
    crashedRows: sum('crashedRows'),
    requests: sum('requests'),
    failedRequests: sum('failedRequests'),
    violations: [...users.flatMap((user) => user.violations), ...provider.violations()],
    provider: provider.figures,
    faults: nemesis.counts,
    ends: Object.fromEntries(processes.map(({ name, ends }) => [name, ends.length])),
  };
}

const report = setInterval(() => {
  writeFileSync(join(folder, 'figures.json'), JSON.stringify(figures(), null, 2));
  const { jobs, rows, violations } = figures() as { jobs: number; rows: number; violations: string[] };
  console.log(`${new Date().toISOString()} ${jobs} jobs, ${rows} rows, ${violations.length} violations`);
}, 60_000);

const userLoops = users.map((user) => user.run(untilMs, SETTLE_MS));
await nemesis.run(untilMs);
await Promise.all(userLoops);
clearInterval(report);

const doctor = spawnSync(process.execPath, [CLI, 'doctor', '--json'], {
  env: { ...process.env, ...environment(0), DATABASE_URL: postgres.url },
  encoding: 'utf8',
});
for (const kept of processes) await kept.stop();
for (const proxy of proxies) await proxy.stop().catch(() => {});
provider.stop();
await postgres.stop();
await store.stop();
const end = { ...figures(), doctor: doctor.status };
writeFileSync(join(folder, 'figures.json'), JSON.stringify(end, null, 2));
console.log(JSON.stringify(end, null, 2));
if (doctor.status !== 0) console.log(doctor.stdout, doctor.stderr);
process.exit(
  (end as unknown as { violations: string[] }).violations.length === 0 && doctor.status === 0 ? 0 : 1,
);

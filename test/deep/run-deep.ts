// `npm run test:deep`: everything in full. Every case of every test on the embedded PostgreSQL 18 without retries, the
// chaos tests again, PostgreSQL 15 with and without a pooler, an upgrade from the previous version, a real S3 server, half an hour of torture, and the proof
// that the tests can fail. Every step runs even if others fail; a table of seconds and failures is printed at the end.
// Words after `--` select steps by name.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startOldPostgres } from './old-postgres.ts';
import { buildPreviousVersion } from './previous-version.ts';

const CHAOS_ROUNDS = 3;
/** Browser tests and pure code do not depend on the server or pooler. */
const SERVER_TESTS = [
  'src/store',
  'src/engine',
  'src/ingest',
  'src/worker',
  'test/engine',
  'test/api',
  'test/chaos',
];
const PACKAGES = 'postgresql-15, pgbouncer, ceph-mon, ceph-osd, ceph-common and radosgw';

interface Step {
  name: string;
  run(): Promise<boolean>;
}

/** Not synchronous: PgBouncer stops for good when its log is not read. */
async function command(args: readonly string[], environment: Record<string, string> = {}): Promise<boolean> {
  const [program, ...rest] = args as [string, ...string[]];
  const shell = process.platform === 'win32';
  const env = { ...process.env, ...environment };
  const [code] = await once(spawn(program, rest, { stdio: 'inherit', shell, env }), 'exit');
  return code === 0;
}

function vitest(files: readonly string[], environment: Record<string, string> = {}): Promise<boolean> {
  return command(['npx', 'vitest', 'run', '--retry=0', ...files], environment);
}

async function onPostgres15(pooled: boolean): Promise<boolean> {
  const server = await startOldPostgres({ pooled });
  try {
    return await vitest(SERVER_TESTS, {
      DATABASE_URL: server.url,
      ...(server.pooler !== null && { TEST_POOLER: server.pooler }),
    });
  } finally {
    await server.stop();
  }
}

async function besidePreviousVersion(): Promise<boolean> {
  const previous = buildPreviousVersion();
  try {
    return await vitest(['test/chaos/rolling-upgrade.test.ts'], { TEST_PREVIOUS_PACKAGE: previous.folder });
  } finally {
    previous.remove();
  }
}

async function runChaosAgain(): Promise<boolean> {
  let isGreen = true;
  for (let round = 0; round < CHAOS_ROUNDS; round += 1) isGreen = (await vitest(['test/chaos'])) && isGreen;
  return isGreen;
}

const STEPS: Step[] = [
  { name: 'build', run: () => command(['npm', 'run', '-s', 'build']) },
  { name: 'check', run: () => command(['npm', 'run', '-s', 'check']) },
  { name: 'every case, PostgreSQL 18', run: () => vitest([], { TEST_DEEP: '1' }) },
  {
    name: `chaos, ${CHAOS_ROUNDS} more rounds`,
    run: runChaosAgain,
  },
  { name: 'PostgreSQL 15', run: () => onPostgres15(false) },
  { name: 'pooler, PostgreSQL 15', run: () => onPostgres15(true) },
  { name: 'upgrade from the previous version', run: besidePreviousVersion },
  { name: 's3', run: () => command(['npm', 'run', '-s', 'test:s3']) },
  { name: 'torture', run: () => command(['npm', 'run', '-s', 'torture', '--', '--minutes', '30']) },
  { name: 'prove', run: () => command(['npm', 'run', '-s', 'prove']) },
];

const words = process.argv.slice(2);
const chosen = STEPS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
if (chosen.length === 0) {
  console.error(`No step is named ${words.join(', ')}. Steps: ${STEPS.map(({ name }) => name).join('; ')}.`);
  process.exit(2);
}
const table: string[] = [];
let failures = 0;
for (const { name, run } of chosen) {
  console.log(`\n== ${name}`);
  const startedMs = performance.now();
  const isGreen = await Promise.resolve()
    .then(run)
    .catch((error: unknown) => {
      console.error(error instanceof Error ? error.message : error);
      return false;
    });
  if (!isGreen) failures += 1;
  const seconds = Math.round((performance.now() - startedMs) / 1000);
  table.push(`${isGreen ? 'passed' : 'FAILED'} ${String(seconds).padStart(6)} s  ${name}`);
}
console.log(`\n${table.join('\n')}`);
if (failures > 0) console.log(`On Debian the servers of the last steps are in ${PACKAGES}.`);
process.exit(failures === 0 ? 0 : 1);

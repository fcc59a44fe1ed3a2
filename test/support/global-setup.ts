// One PostgreSQL for the whole run: DATABASE_URL if it is set, otherwise the embedded server in a temporary folder,
// which ends with this process. A template database is migrated once; each test file clones it. The unit lane has none.
// A socket that the guard (loopback-only.mjs) refused fails the run at its end.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/start-embedded-postgres.ts';
import { migrate } from '../../src/store/migrate.ts';
import { bundleChildren } from './bundle-children.ts';
import { isDeep } from './depth.ts';
import { checkRefusedSockets } from './guard-sockets.ts';
import { removeAtEnd } from './remove-at-end.ts';

export const TEMPLATE_DATABASE = 'rowmill_test_template';

/** Workers take on less on a slow machine; only tests of pressure may depend on that. */
const WITHOUT_PRESSURE = {
  PRESSURE_FLUSH_MS: '3600000',
  PRESSURE_POOL_WAIT_MS: '3600000',
  PRESSURE_LOOP_DELAY_MS: '3600000',
  PRESSURE_MEMORY: '1',
};

/** Test data does not outlive its run, and no test kills this server. */
export const SERVER_SETTINGS = {
  max_connections: '300',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
};

export default async function setup({ vitest }: TestProject): Promise<() => Promise<void>> {
  if (isDeep) console.log(`property tests: TEST_SEED=${process.env.TEST_SEED}`);
  const isUnitLane = vitest.projects.every(({ name }) => name === 'unit');
  const [stopServer, removeBundles] = isUnitLane ? [] : await Promise.all([startServer(), bundleChildren()]);
  return async () => {
    await stopServer?.();
    removeBundles?.();
    checkRefusedSockets();
  };
}

async function startServer(): Promise<() => Promise<void>> {
  const given = process.env.DATABASE_URL;
  const folder = mkdtempSync(join(tmpdir(), 'rowmill-test-'));
  const blobs = mkdtempSync(join(tmpdir(), 'rowmill-test-blobs-'));
  const removeFolders = removeAtEnd(folder, blobs);
  const server = given ? null : await startEmbeddedPostgres({ dataDir: folder, settings: SERVER_SETTINGS });
  const url = given ?? server!.url;
  process.env.ROWMILL_TEST_DATABASE_URL = url;
  // Code under test must take its database from the test, never from the environment.
  delete process.env.DATABASE_URL;
  process.env.BLOB_STORE = blobs;
  Object.assign(process.env, WITHOUT_PRESSURE);

  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`drop database if exists ${TEMPLATE_DATABASE} with (force)`);
  await admin.query(`create database ${TEMPLATE_DATABASE}`);
  const template = new URL(url);
  template.pathname = `/${TEMPLATE_DATABASE}`;
  await migrate(template.href);
  await admin.end();

  return async () => {
    await server?.stop();
    await removeFolders();
  };
}

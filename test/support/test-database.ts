// A separate database for each test file, cloned from the migrated template. If a test fails, its content is logged,
// and the database is kept on request.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, onTestFailed } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { openBlobStore } from '../../src/platform/blob-store/open-blob-store.ts';
import { Database } from '../../src/platform/database.ts';
import { Events } from '../../src/platform/events.ts';
import { newId } from '../../src/platform/random.ts';
import { loadSettings, type Settings } from '../../src/platform/settings.ts';
import { TEMPLATE_DATABASE } from './global-setup.ts';
import { testServerUrl } from './test-server-url.ts';

export interface TestDatabase {
  /** Through the pooler at TEST_POOLER (host:port) if that is set. */
  url: string;
  /** Direct, without the pooler. */
  directUrl: string;
  /** A new engine context on this database; closed after the file. */
  context(settings?: Partial<Settings>): EngineContext;
  query<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Call in a test to keep the database if that test fails. */
  keepIfFailed(): void;
}

/** Call at the top of a test file. */
export function useTestDatabase(): TestDatabase {
  const name = `rowmill_test_${newId().slice(0, 8)}`;
  const url = new URL(testServerUrl());
  url.pathname = `/${name}`;
  const direct = url.href;
  if (process.env.TEST_POOLER) url.host = process.env.TEST_POOLER;
  const opened: Database[] = [];
  let admin: pg.Client;
  let client: pg.Client;
  let keep = false;
  let blobFolder: string | null = null;

  beforeAll(async () => {
    admin = new pg.Client({ connectionString: testServerUrl() });
    await admin.connect();
    // One clone at a time: PostgreSQL refuses while another session uses the template.
    await admin.query('select pg_advisory_lock(726)');
    // Copying the files takes half the time of writing them through the WAL.
    await admin.query(`create database ${name} template ${TEMPLATE_DATABASE} strategy file_copy`);
    await admin.query('select pg_advisory_unlock(726)');
    client = new pg.Client({ connectionString: direct });
    await client.connect();
  });

  // In CI nothing else remains of the machine.
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.error(await describeDatabase(client));
  });

  afterAll(async () => {
    for (const db of opened) await db.close();
    await client.end();
    if (keep) console.error(`the database ${name} was kept`);
    else await admin.query(`drop database ${name} with (force)`);
    await admin.end();
    if (blobFolder) rmSync(blobFolder, { recursive: true, force: true });
  });

  return {
    url: url.href,
    directUrl: direct,
    context(settings = {}) {
      const db = new Database({
        url: url.href,
        maxConnections: 4,
        applicationName: 'test',
        deadlineMs: 60_000,
      });
      opened.push(db);
      blobFolder ??= mkdtempSync(join(tmpdir(), 'rowmill-blobs-'));
      const loaded = loadSettings({ flags: { blobStore: blobFolder, ...settings }, environment: {} });
      return { db, blobs: openBlobStore(loaded.blobStore), events: new Events(), settings: loaded };
    },
    async query(text, values) {
      return (await client.query(text, values)).rows;
    },
    keepIfFailed() {
      onTestFailed(() => {
        keep = true;
      });
    },
  };
}

/** The newest jobs, their waiting and leased spans, and the sessions with their lock waits. */
async function describeDatabase(client: pg.Client): Promise<string> {
  const parts: [what: string, text: string][] = [
    [
      'jobs',
      `select job_id, pipeline, state, generation, item_count, paused_because, last_error, created_at,
         (select jsonb_object_agg(status, n) from (select status, count(*) as n from results r where r.job_id = j.job_id group by 1) c) as results
       from jobs j order by created_at desc limit 5`,
    ],
    [
      'spans',
      `select job_id, span_id, generation, phase, items::text, attempt, crashes, worker_id, ready_at, expires_at, clock_timestamp() as now
       from spans where job_id in (select job_id from jobs order by created_at desc limit 5) order by job_id, span_id limit 20`,
    ],
    [
      'sessions',
      `select pid, application_name, state, wait_event_type, wait_event, pg_blocking_pids(pid) as blocked_by, left(query, 200) as query
       from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    ],
  ];
  const lines: string[] = ['content of the database of the failed test:'];
  for (const [what, text] of parts) {
    try {
      const { rows } = await client.query(text);
      lines.push(`${what}:`, ...rows.map((row) => `  ${JSON.stringify(row)}`));
    } catch (error) {
      lines.push(`${what}: ${String(error)}`);
    }
  }
  return lines.join('\n');
}

// rowmill top while a job runs: on a terminal until Ctrl-C, as JSON, on the database and over a server.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { runCommand } from '../support/run-command.ts';
import { hasTerminal, runOnTerminal } from '../support/run-on-terminal.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;
let rowmill: Rowmill;
let jobId: string;
let release: () => void;
const released = new Promise<void>((resolve) => {
  release = resolve;
});
let begun: () => void;
const inHandler = new Promise<void>((resolve) => {
  begun = resolve;
});

const slow = definePipeline({
  name: 'slow',
  resources: { shop: { ratePerSecond: 100 } },
  phases: [
    {
      name: 'only',
      concurrency: 3,
      resources: ['shop'],
      run: async (row) => {
        begun();
        await released;
        return row;
      },
    },
  ],
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-top-'));
  rowmill = await openRowmill({ databaseUrl: database.url, settings: { heartbeatMs: 1000 } });
  await rowmill.startWorker([slow]);
  jobId = await rowmill.submit(
    slow,
    Array.from({ length: 50 }, (_, n) => ({ n })),
  );
  await inHandler;
  // Slots are reported with the heartbeat.
  const busy = `select 1 from workers where (pools -> 0 ->> 'busy')::int = 3`;
  await vi.waitFor(async () => expect(await database.query(busy)).toHaveLength(1), 45_000);
});

afterAll(async () => {
  release();
  await rowmill.whenFinished(jobId);
  await rowmill.close();
  rmSync(folder, { recursive: true, force: true });
});

test('a sample has jobs, workers, services and the database; over a server the same without the database', async () => {
  const api = await startTestApi(database.url, { pipelines: [slow] });
  const sampleOf = async (where: Parameters<typeof runCommand>[0]) => {
    const { stdout, stderr } = await runCommand(where, ['top', '--json']);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout);
  };
  const environment = { XDG_CONFIG_HOME: join(folder, 'nobody') };
  const direct = await sampleOf({ folder, databaseUrl: database.url, environment });
  expect(direct.jobs).toMatchObject([{ jobId, state: 'RUNNING', itemCount: 50 }]);
  expect(direct.workers).toMatchObject([{ alive: true, pools: [{ pipeline: 'slow', busy: 3, idle: 0 }] }]);
  expect(direct.resources).toMatchObject([{ name: 'shop', state: expect.any(String) }]);
  expect(direct.database).toMatchObject({ open: expect.any(Number), maxConnections: expect.any(Number) });
  expect(direct.database.open).toBeGreaterThan(1);

  const remote = await sampleOf({ folder, environment: { ...environment, ROWMILL_API: api.url } });
  expect(remote.database).toBeNull();
  expect(remote.jobs).toMatchObject([{ jobId, itemCount: 50 }]);
  expect(remote.workers).toMatchObject([{ pools: [{ busy: 3, idle: 0 }] }]);
});

test.runIf(hasTerminal)('on a terminal it is redrawn in place, and Ctrl-C leaves a clean line', async () => {
  const { code, screen } = await runOnTerminal({ folder, databaseUrl: database.url }, ['top'], {
    // The second picture begins with the cursor moved up over the first.
    answer: { after: '\x1b[11A', type: '\x03' },
    columns: 100,
  });
  expect(code).toBe(0);
  const plain = screen.replaceAll('\x1b[K', '').replaceAll('\x1b[J', '');
  expect(plain).toMatch(/^Job +Pipeline +State +Finished +Rows/m);
  expect(plain).toMatch(/slow +RUNNING +0 +50/);
  expect(plain).toMatch(/ 3 +3 +/);
  expect(plain).toMatch(/^Database: \d+ of \d+ connections, /m);
  // Nothing that a terminal would keep: no alternate screen, no hidden cursor.
  expect(screen).not.toContain('\x1b[?');
  // After the last picture, which ends below its last line, only the echo of Ctrl-C.
  expect(screen.split('\x1b[J').at(-1)!.replace('^C', '').trim()).toBe('');
});

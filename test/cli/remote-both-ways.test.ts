// The same commands print the same through a real server and directly on its database.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createClient } from '../../src/client/create-client.ts';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { LIBRARY } from '../support/built-program.ts';
import { sample } from '../support/depth.ts';
import { runCommand } from '../support/run-command.ts';
import { stopAfterTest } from '../support/stop-after-test.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();
let folder: string;

const odd = definePipeline({
  name: 'odd',
  phases: [
    {
      name: 'only',
      run: (row) => {
        if (Number((row as { n: string }).n) % 5 === 4) throw new Error('is broken');
        return row;
      },
    },
  ],
});

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-both-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline } from '${LIBRARY}';
     export const odd = definePipeline({ name: 'odd', phases: [{ name: 'only', run: (row) => row }] });`,
  );
  writeFileSync(join(folder, 'rows.csv'), `n\n${Array.from({ length: 20 }, (_, n) => `${n}\n`).join('')}`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A server and a worker, and the commands through the server and directly on its database. */
async function start() {
  const blobs = { blobStore: join(folder, 'blobs') };
  const api = await startTestApi(database.url, { pipelines: [odd], settings: blobs });
  const environment = { XDG_CONFIG_HOME: join(folder, 'nobody'), BLOB_STORE: blobs.blobStore };
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: blobs });
  const worker = await rowmill.startWorker([odd]);
  stopAfterTest(async () => {
    await worker.stop();
    await rowmill.close();
  });
  return {
    rowmill,
    client: createClient({ baseUrl: api.url, validate: true }),
    remote: (...args: string[]) =>
      runCommand({ folder, environment: { ...environment, ROWMILL_API: api.url } }, args),
    direct: (...args: string[]) => runCommand({ folder, databaseUrl: database.url, environment }, args),
  };
}

/** A job of 20 rows, of which 4 failed in both of its runs. */
async function twoRuns(rowmill: Rowmill): Promise<string> {
  const { jobId } = await rowmill.submitFile(odd, join(folder, 'rows.csv'), { again: true });
  await whenFinished(rowmill, jobId);
  await rowmill.reprocess(jobId, { includePermanent: true });
  await whenFinished(rowmill, jobId);
  return jobId;
}

test('jobs submitted through a server or on its database are followed and rerun from both', async () => {
  const { remote, direct } = await start();
  const followed = await remote('submit', 'rows.csv', '--pipeline', 'odd', '--follow', '--again');
  expect(followed.stdout).toContain('20 of 20 rows');
  expect(followed.code, followed.stderr).toBe(3);
  const here = await direct('submit', 'rows.csv', '--pipeline', 'pipeline.ts#odd', '--again', '--json');
  const { jobId } = JSON.parse(here.stdout) as { jobId: string };
  expect((await remote('watch', jobId.slice(0, 8))).code).toBe(3);
  expect((await remote('reprocess', jobId, '--include-permanent')).stdout).toContain(
    '4 rows waiting to rerun',
  );
  expect((await direct('watch', jobId)).code).toBe(3);
});

test('jobs look the same through a server and on its database', async () => {
  const { rowmill, remote, direct } = await start();
  const jobId = await twoRuns(rowmill);
  const commands = [
    ['jobs'],
    ['jobs', '--state', 'DONE', '--search', 'rows'],
    ['status', jobId.slice(0, 8)],
    ['items', jobId, '--status', 'ERROR'],
    ['items', jobId, '--limit', '3', '--search', '1'],
    ['errors', jobId],
    ['workers'],
    ['resources'],
  ];
  // Ignore heartbeats, which change between two commands.
  const steady = (text: string) => text.replace(/"heartbeatAt":"[^"]*"/g, '');
  for (const command of sample(commands, 5)) {
    const [over, on] = await Promise.all([remote(...command, '--json'), direct(...command, '--json')]);
    expect(over.stderr).toBe('');
    expect(steady(over.stdout), command.join(' ')).toBe(steady(on.stdout));
  }
});

test('comparisons and exports are the same through a server and on its database', async () => {
  const { rowmill, remote, direct } = await start();
  const jobId = await twoRuns(rowmill);
  const compare = ['compare', jobId, '--change', 'same,changed', '--limit', '2'];
  const [over, on, table] = await Promise.all([
    remote(...compare, '--json'),
    direct(...compare, '--json'),
    direct(...compare),
  ]);
  expect(over.stdout).toBe(on.stdout);
  expect(JSON.parse(on.stdout)).toMatchObject({
    from: 1,
    to: 2,
    totals: { rows: { same: 4 } },
    more: true,
  });
  expect(table.stdout).toContain(
    'Run 1 and run 2: 0 fixed, 0 newly failed, 0 newly not found, 0 changed, 0 added, 4 same',
  );
  expect(table.stdout).toMatch(/^ *5 +same$/m);
  expect(table.stderr).toContain('First 2 rows. Use --limit to see more');

  await Promise.all([
    remote('export', jobId, '--out', 'remote.csv'),
    direct('export', jobId, '--out', 'direct.csv'),
  ]);
  expect(readFileSync(join(folder, 'remote.csv'), 'utf8')).toBe(
    readFileSync(join(folder, 'direct.csv'), 'utf8'),
  );
  for (const either of [remote, direct]) {
    const { stdout } = await either('export', jobId, '--out', '-', '--format', 'jsonl');
    expect(stdout.trim().split('\n')).toHaveLength(20);
    expect(JSON.parse(stdout.split('\n')[19]!)).toMatchObject({ seq: 19 });
  }
});

test('every response of a finished job matches its schema', async () => {
  const { rowmill, client } = await start();
  const jobId = await twoRuns(rowmill);
  const reads = [
    client.getJob({ jobId }),
    client.getSummary({ jobId, generation: 1 }),
    client.listItems({ jobId, sort: '-seq', fromSeq: 7 }),
    client.getItem({ jobId, seq: 4 }),
    client.getTimeline({ jobId }),
    client.listGenerations({ jobId }),
    client.compareRuns({ jobId }),
    client.listErrors({ jobId }),
    client.listRejected({ jobId }),
    client.listPendingOfJob({ jobId }),
    client.listJobActivity({ jobId }),
    client.listFiles({ jobId }),
    client.listPipelines(),
    client.listWorkers(),
    client.getStats(),
    client.getConfiguration(),
    client.getSession(),
  ];
  // Every response matches its schema.
  expect((await Promise.all(reads)).length).toBe(reads.length);
  const newest: number[] = [];
  for await (const item of client.pages('listItems', { jobId, sort: '-seq', pageSize: 7 }))
    newest.push(item.seq);
  expect(newest).toEqual(Array.from({ length: 20 }, (_, n) => 19 - n));
});

test('owners are set and listed the same through a server and on its database', async () => {
  const { remote, direct } = await start();
  const over = await remote('owners', 'set', 'otto', '--weight', '3', '--max-items', '10', '--budget', '5');
  expect(over.stdout, over.stderr).toBe(
    'Owner otto: weight 3, any number of running jobs, at most 10 rows in progress, budget 5, budget per day none\n',
  );
  const change = ['owners', 'set', 'otto', '--max-jobs', '2', '--budget', 'none', '--json'];
  const stored = { weight: 3, maxRunningJobs: 2, maxInFlight: 10, keepDays: null };
  for (const either of [remote, direct])
    expect(JSON.parse((await either(...change)).stdout)).toEqual({
      ...{ ownerId: 'otto', ...stored, budgetTotal: null, budgetPerDay: null },
    });
  const held = await remote('submit', 'rows.csv', '--pipeline', 'odd', '--again', '--hold');
  const [listed, table] = [await remote('owners', '--json'), await remote('owners', 'list', '-n', '1')];
  expect(listed.stdout).toBe((await direct('owners', '--json')).stdout);
  expect(table.stdout).toBe((await direct('owners', 'list', '-n', '1')).stdout);
  expect(table.stdout.trim().split('\n')).toHaveLength(2);
  const owners = JSON.parse(listed.stdout) as Record<string, unknown>[];
  expect(owners).toContainEqual(expect.objectContaining({ ownerId: 'otto', ...stored, openJobs: 0 }));
  expect(owners).toContainEqual(
    expect.objectContaining({ ownerId: 'local', openJobs: 1, runningJobs: 0, itemsWaiting: 20 }),
  );
  expect((await remote('owners', 'set', 'otto')).stderr).toContain('[OWNER_INVALID]');
  expect((await remote('jobs', 'cancel', held.stdout.trim(), '--yes')).code).toBe(0);
});

test('budgets and cancelled jobs are the same through a server and on its database', async () => {
  const { remote, direct } = await start();
  const budget = { ownerId: 'anna', budget: { total: null, perDay: 20 } };
  const changed = await remote('owners', 'budget', 'anna', '--per-day', '20', '--json');
  expect(JSON.parse(changed.stdout)).toEqual(budget);
  expect(JSON.parse((await direct('owners', 'budget', 'anna', '--json')).stdout)).toEqual(budget);
  const held = await remote('submit', 'rows.csv', '--pipeline', 'odd', '--again', '--hold');
  const cancelled = await remote('cancel', held.stdout.trim());
  expect(cancelled.stdout).toContain('is cancelled: 20 rows had no result (CANCELLED)');
  expect((await direct('watch', held.stdout.trim())).code).toBe(4);
});

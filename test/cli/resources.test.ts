// Commands with which operators view and change resources and owners.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/platform/random.ts';
import { bareEnvironment } from '../support/bare-environment.ts';
import { LIBRARY, MAIN } from '../support/built-program.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rowmill-resources-'));
  writeFileSync(
    join(folder, 'pipeline.ts'),
    `import { definePipeline, httpError, resource } from '${LIBRARY}';
     let calls = 0;
     export const lookup = definePipeline({
       name: 'lookup',
       resources: { api: { ratePerSecond: 200, concurrency: 5 } },
       phases: [{
         name: 'only',
         resources: [resource('api', (row) => row.host)],
         retry: { throttled: { baseMs: 10, capMs: 20, maxAttempts: 50 } },
         run: (row) => {
           calls += 1;
           if (calls === 20) throw httpError({ status: 429, headers: { 'retry-after': '1' } });
           return row;
         },
       }],
     });`,
  );
  const lines = Array.from({ length: 60 }, (_, n) => `${n},host${n % 2}\n`);
  writeFileSync(join(folder, 'rows.csv'), `n,host\n${lines.join('')}`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(...args: string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder,
    env: { ...bareEnvironment(), DATABASE_URL: database.url },
  });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    said.stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    said.stderr += String(chunk);
  });
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, ...said })),
  );
  return { child, said, ended };
}

const rowmill = (...args: string[]) => start(...args).ended;

/** Checks the output whenever there is more of it. */
function whenSaid({ child, said, ended }: ReturnType<typeof start>, what: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (what.test(said.stdout + said.stderr)) resolve();
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    void ended.then(() => reject(new Error(`it exited without ${what}: ${said.stdout}${said.stderr}`)));
    look();
  });
}

test('lists the resource of a job by key, and logs decisions of the worker with reasons', async () => {
  expect((await rowmill('resources')).stdout).toContain('No resource is in use');
  const made = await rowmill(
    'run',
    'pipeline.ts',
    'rows.csv',
    '--owner',
    'alice',
    '--priority',
    '3',
    '--no-worker',
  );
  expect(made.code, made.stderr).toBe(0);
  const jobs = await database.query('select owner_id, priority from jobs');
  expect(jobs).toEqual([{ owner_id: 'alice', priority: 3 }]);

  const worker = start('worker', 'pipeline.ts', '--log-level', 'info');
  await whenSaid(worker, /"kind":"pause".*asked for a pause of \d+ ms/);
  const watching = start('resources', 'api', '--watch');
  await whenSaid(watching, /(api +host\d.*){2}/s);
  watching.child.kill('SIGINT');
  const watched = await watching.ended;
  expect(watched.code).toBe(0);
  expect(watched.stdout).toMatch(/Name +Key +In use +Declared +Override +Share +Rate now +State +Workers/);
  expect(watched.stdout).toMatch(/api +host0 +\d+ \/ \d+ +200\/s, 5 at once +- +\d+%/);
  await whenSaid(worker, /"level":30.*"msg":"job finished"/);
  for (const message of ['worker started', 'job started'])
    expect(worker.said.stderr).toMatch(new RegExp(`"level":30.*"msg":"${message}"`));
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  expect(worker.said.stderr).toMatch(/"level":30.*"unpersisted":0.*"msg":"worker stopped"/);
});

test('changes a resource, records the change in the audit log, and refuses invalid values', async () => {
  const set = await rowmill('resources', 'set', 'api', '--rate', '20', '--concurrency', '3', '--pause');
  expect(set).toMatchObject({ code: 0, stdout: 'Resource api: 20/s, 3 at once, paused\n' });
  const keyed = await rowmill('resources', 'set', 'api', '--key', 'host1', '--resume', '--json');
  expect(JSON.parse(keyed.stdout)).toEqual({ name: 'api', key: 'host1', override: { paused: false } });
  const listed = JSON.parse((await rowmill('resources', 'api', '--json')).stdout);
  const of = (key: string) => listed.find((each: { key: string }) => each.key === key);
  expect(of('host0')).toMatchObject({
    limits: { ratePerSecond: 200, concurrency: 5 },
    override: { ratePerSecond: 20, concurrency: 3, paused: true },
    state: 'paused',
    stopped: { reason: 'paused by an operator' },
  });
  expect(of('host1')).toMatchObject({ override: { ratePerSecond: 20, paused: false } });
  const cleared = await rowmill('resources', 'set', 'api', '--clear');
  expect(cleared.stdout).toBe('Resource api: as declared\n');

  const audit = (await rowmill('audit', 'api')).stdout.trim().split('\n');
  expect(audit).toHaveLength(3);
  expect(audit[0]).toMatch(/^\d{4}-.*resource\.override {2}resource api .*"ratePerSecond":null/);
  expect((await rowmill('resources', 'set', 'api')).stderr).toContain('expected something to change');
  expect((await rowmill('resources', 'set', 'api', '--rate', '0')).stderr).toContain('a number above 0');
  const both = await rowmill('resources', 'set', 'api', '--pause', '--resume', '--json');
  expect(JSON.parse(both.stdout)).toMatchObject({ ok: false, error: { code: 'RESOURCE_INVALID' } });
});

test('refuses a misspelt resource with a suggestion, and accepts a new name with a note', async () => {
  const misspelt = await rowmill('resources', 'set', 'apii', '--rate', '5');
  expect([misspelt.code, misspelt.stdout]).toEqual([1, '']);
  expect(misspelt.stderr).toContain('there is no resource apii, did you mean api? [RESOURCE_INVALID]');
  expect(misspelt.stderr).toContain('Known resources: api.');
  expect(await database.query(`select name from resources where name = 'apii'`)).toEqual([]);
  const unused = await rowmill('resources', 'set', 'geocoder', '--rate', '5');
  expect(unused).toMatchObject({ code: 0, stdout: 'Resource geocoder: 5/s\n' });
  expect(unused.stderr).toContain('note: no worker has used a resource geocoder yet');
});

test('sets and removes the weight and limits of an owner', async () => {
  const bob = newId();
  const set = await rowmill('owners', 'set', bob, '--weight', '3', '--max-jobs', '2', '--max-items', '10');
  expect(set).toMatchObject({
    code: 0,
    stdout: `Owner ${bob}: weight 3, at most 2 running jobs, at most 10 rows in progress\n`,
  });
  const freed = await rowmill('owners', 'set', bob, '--max-items', 'none', '--json');
  expect(JSON.parse(freed.stdout)).toEqual({
    ownerId: bob,
    weight: 3,
    maxRunningJobs: 2,
    maxInFlight: null,
    keepDays: null,
  });
  expect((await rowmill('owners')).stdout).toMatch(new RegExp(`^${bob} +3 +0 +0 +2 +0 +0 +- +-$`, 'm'));
  expect((await rowmill('owners', 'set', bob, '--weight', '1001')).stderr).toContain(
    'expected weight to be a whole number from 1 to 1000, got 1001 [OWNER_INVALID]',
  );
  expect((await rowmill('owners', 'set', bob)).stderr).toContain('expected something to change');
  const paid = await rowmill('owners', 'set', bob, '--budget', '4', '--budget-per-day', 'none');
  expect(paid.stdout).toBe(`Owner ${bob}: budget 4, budget per day none\n`);
  expect(JSON.parse((await rowmill('audit', `owner ${bob}`, '--json')).stdout)).toHaveLength(3);
  const kept = await rowmill('owners', 'set', bob, '--keep', '30');
  expect(kept.stdout).toContain('finished jobs kept for 30 days');
  const written = await rowmill('owners', 'export', bob, '--out', `export-${bob}`, '--json');
  expect(JSON.parse(written.stdout)).toMatchObject({ ownerId: bob, jobs: 0, rows: 0 });
  expect((await rowmill('owners', 'delete', bob)).stderr).toContain('[NOT_CONFIRMED]');
  expect((await rowmill('owners', 'delete', bob, '--yes')).stdout).toBe(
    `Owner ${bob} is deleted with 0 jobs\n`,
  );
  expect((await rowmill('owners')).stdout).not.toContain(bob);
});

// Two versions of Rowmill on one database while rows flow. The next version is a copy of this one with one more
// migration. The database starts with the schema of the previous version and a job that it created; all later migrations
// are applied under load, workers of both versions run side by side and replace each other in both orders, and every row
// has one result. `test/deep/previous-version.ts` runs it with an earlier commit as the previous version.
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import { newId } from '../../src/platform/random.ts';
import { readMigrations } from '../../src/store/migrate.ts';
import { type EndedCommand, startCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { checkFinishedJob } from './check-finished-job.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const ROWS = 3000;
const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-upgrade-'));
const previous = process.env.TEST_PREVIOUS_PACKAGE ?? ROOT;
const next = join(folder, 'next');
const finish = join(folder, 'finish');
const running: { stop(): Promise<EndedCommand> }[] = [];

beforeAll(() => {
  cpSync(join(ROOT, 'dist'), join(next, 'dist'), {
    recursive: true,
    filter: (path) => path !== join(ROOT, 'dist/web'),
  });
  for (const name of ['migrations', 'package.json'])
    cpSync(join(ROOT, name), join(next, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(next, 'node_modules'), 'junction');
  const newest = readMigrations(join(previous, 'migrations')).at(-1)!.version;
  writeFileSync(
    join(next, 'migrations/9000_add_notes.sql'),
    `-- compatible from: ${newest}\nalter table jobs add column note text;\nalter table items add column note text;\n`,
  );
});
// The template has the schema of this version, and a retry finds the one of the first attempt.
beforeEach(async () => {
  rmSync(finish, { force: true });
  await database.query('drop schema public cascade');
  await database.query('create schema public');
  const { code, stderr } = await command(previous, ['migrate']).ended;
  expect(code, stderr).toBe(0);
});
afterEach(async () => {
  for (const worker of running.splice(0)) await worker.stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The pipeline for the workers of a version. It is slow until the file `finish` exists, so that rows do not run out. */
function pipelineFor(version: string): string {
  const path = join(
    folder,
    version === next ? 'slow-next.mjs' : version === ROOT ? 'slow.mjs' : 'slow-previous.mjs',
  );
  writeFileSync(
    path,
    `import { existsSync } from 'node:fs';
     import { definePipeline } from ${JSON.stringify(join(version, 'dist/index.js'))};
     export default definePipeline({ name: 'slow', phases: [{ name: 'only', concurrency: 4, run: async (row) => {
       if (!existsSync(${JSON.stringify(finish)})) await new Promise((resolve) => setTimeout(resolve, 40));
       return { n: row.n };
     } }] });`,
  );
  return path;
}

function command(version: string, args: string[]): ReturnType<typeof startCommand> {
  const main = join(version, 'dist/cli/main.js');
  return startCommand({ folder, databaseUrl: database.url, main }, args);
}

/** Resolves when the worker has announced itself in the database. */
async function startWorker(version: string): Promise<{ stop(): Promise<EndedCommand> }> {
  const before = new Set(await workerIds());
  const { child, ended } = command(version, [
    'worker',
    pipelineFor(version),
    '--set',
    'pollMaxMs=100',
    '--set',
    'drainMs=5000',
  ]);
  let end: EndedCommand | null = null;
  void ended.then((value) => {
    end = value;
  });
  const worker = {
    stop: () => {
      child.kill('SIGTERM');
      return ended;
    },
  };
  running.push(worker);
  await until(async () => {
    if (end !== null) throw new Error(`the worker ended: ${end.stderr}`);
    return (await workerIds()).some((id) => !before.has(id));
  });
  return worker;
}

/** Creates a job of all rows; returns its id. */
async function submitRows(version: string): Promise<string> {
  const rows = join(folder, 'rows.jsonl');
  writeFileSync(
    rows,
    Array.from({ length: ROWS }, (_, n) => `${JSON.stringify({ n, id: newId() })}\n`).join(''),
  );
  const { code, stdout, stderr } = await command(version, ['submit', pipelineFor(version), rows, '--json'])
    .ended;
  expect(code, stderr).toBe(0);
  return (JSON.parse(stdout) as { jobId: string }).jobId;
}

async function workerIds(): Promise<string[]> {
  return (await database.query<{ worker_id: string }>('select worker_id from workers')).map(
    (row) => row.worker_id,
  );
}

async function doneRows(jobId: string): Promise<number> {
  const [row] = await database.query<{ done: number }>(
    'select coalesce(sum(done), 0)::int as done from ledger where job_id = $1',
    [jobId],
  );
  return row!.done;
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 50_000;
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) throw new Error('the workers made no progress');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('workers of two versions run side by side while the schema changes under them', async () => {
  const jobId = await submitRows(previous);
  const whenMoved = async (): Promise<void> => {
    const done = await doneRows(jobId);
    expect(done, 'void: the rows ran out').toBeLessThan(ROWS);
    await until(async () => (await doneRows(jobId)) > done);
  };

  const old = await startWorker(previous);
  await whenMoved();
  const migrated = await command(next, ['migrate']).ended;
  expect(migrated.stdout, migrated.stderr).toMatch(/^(Applied 0\S+\n)*Applied 9000_add_notes\n$/);
  // The previous version continues after the migration, together with the next one.
  await whenMoved();
  const first = await startWorker(next);
  await whenMoved();
  expect((await old.stop()).code).toBe(0);
  // The other order: a process of the previous version starts on the new schema and takes over.
  await startWorker(previous);
  await whenMoved();
  expect((await first.stop()).code).toBe(0);

  writeFileSync(finish, '');
  const rowmill = await openRowmill({ databaseUrl: database.url });
  await whenFinished(rowmill, jobId);
  await checkFinishedJob(database, jobId, { counts: { DONE: ROWS } });
  await rowmill.close();
  for (const version of [previous, next]) {
    const { code, stderr } = await command(version, ['doctor', '--job', jobId]).ended;
    expect(code, stderr).toBe(0);
  }

  // Two versions on: the previous one refuses with a sentence.
  await database.query(
    `insert into rowmill_migrations (version, name, checksum, compatible_from) values (9001, '9001_drop_notes', 'x', 9000)`,
  );
  const refused = await command(previous, ['doctor']).ended;
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain('9001_drop_notes, which needs a program with migration 9000');
});

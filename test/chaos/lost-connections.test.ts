// Connections are cut while a person waits: for a file to be read, progress to be shown, results to be exported. Each
// command continues when the database answers again.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import { LIBRARY } from '../support/built-program.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { runCommand, startCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const ROWS = 300;

let folder: string;
let proxy: FaultProxy;

const pipelineOf = (name: string, before: string) =>
  `import { existsSync } from 'node:fs';
   import { definePipeline } from '${LIBRARY}';
   export const pipeline = definePipeline({ name: '${name}', phases: [
     { name: 'only', concurrency: 20, run: async (row) => {
       ${before}
       return { twice: Number(row.n) * 2 };
     } } ] });`;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rowmill-lost-'));
  proxy = await startFaultProxy({ target: database.url });
  await writeFile(join(folder, 'pipeline.mjs'), pipelineOf('doubles', ''));
  await writeFile(
    join(folder, 'waiting.mjs'),
    pipelineOf(
      'waiting',
      "while (!existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20));",
    ),
  );
  const numbers = Array.from({ length: ROWS }, (_, n) => `${n},row ${n}`);
  await writeFile(join(folder, 'rows.csv'), `n,name\n${numbers.join('\n')}\n`);
});

afterEach(async () => {
  await proxy.stop();
  await rm(folder, { recursive: true, force: true });
});

const rowmill = (args: string[]) => runCommand({ folder, databaseUrl: proxy.url }, args);

async function expectWhole(file: string): Promise<void> {
  const lines = (await readFile(join(folder, file), 'utf8')).trimEnd().split('\n');
  expect(lines).toEqual([
    'n,name,twice,status,error,attempts',
    ...Array.from({ length: ROWS }, (_, n) => `${n},row ${n},${n * 2},DONE,,1`),
  ]);
}

test('run continues when the connections of its progress display are cut', async () => {
  const { ended } = startCommand({ folder, databaseUrl: proxy.url }, [
    ...['run', 'waiting.mjs', 'rows.csv', '--again', '--out', 'a.csv'],
  ]);
  await vi.waitUntil(
    async () => (await database.query('select from spans where worker_id is not null')).length > 0,
    {
      timeout: 45_000,
    },
  );
  // Only the progress display reads error groups.
  await proxy.cutOnReply({ match: (sql) => sql.includes('is_not_found') });
  await writeFile(join(folder, 'go'), '');
  const { code, stderr } = await ended;
  expect(stderr).not.toContain('    at ');
  expect(code).toBe(0);
  await expectWhole('a.csv');
});

test('run continues with its file after an outage longer than the retries of a batch', async () => {
  const cut = proxy.cutBeforeCommit({ match: (sql) => sql.startsWith('copy items'), times: 9 });
  const { code, stderr } = await rowmill(['run', 'pipeline.mjs', 'rows.csv', '--again', '--out', 'b.csv']);
  await cut;
  expect(proxy.fired).toHaveLength(9);
  expect(stderr).not.toContain('    at ');
  expect(code).toBe(0);
  await expectWhole('b.csv');
});

test('an export continues when its connection is cut between two pages', async () => {
  const first = await rowmill(['run', 'pipeline.mjs', 'rows.csv', '--again', '--out', 'c.csv']);
  expect(first.code).toBe(0);
  const cut = proxy.cutOnReply({ match: (sql) => sql.includes('input_bytes) over'), times: 3 });
  const through = await openRowmill({ databaseUrl: proxy.url, settings: { exportPageRows: 10 } });
  try {
    const [job] = await database.query<{ job_id: string }>(
      'select job_id from jobs order by created_at desc limit 1',
    );
    let text = '';
    for await (const bytes of through.export(job!.job_id, { format: 'csv' })) text += bytes.toString();
    await cut;
    expect(proxy.fired).toHaveLength(3);
    expect(text).toBe(await readFile(join(folder, 'c.csv'), 'utf8'));
  } finally {
    await through.close();
  }
});

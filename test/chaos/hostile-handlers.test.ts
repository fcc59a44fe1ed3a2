// Anything a handler throws or returns affects only its own item: the neighbours in the same lease and the same flush
// complete, and the process survives.
import { afterEach, expect, test } from 'vitest';
import { openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { CHAOS_SETTINGS, chaosPipeline, startChaosWorker } from './chaos-worker.ts';
import { EMOJI, HOSTILE_CASES, HOSTILE_CASES_ALONE, type HostileCase } from './hostile-handlers.mjs';

const database = useTestDatabase();
let rowmill: Rowmill;
afterEach(async () => {
  await killAll();
  await rowmill.close();
});

interface ResultRow {
  name: string | null;
  status: string;
  error_class: string | null;
  error: string | null;
  result: unknown;
}

/** Runs one job in which every hostile item is between two good ones. */
async function runHostileJob(pipeline: string, names: string[]): Promise<ResultRow[]> {
  rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  const items = names.flatMap((hostile, n) => [{ n }, { n, hostile }, { n }]);
  const jobId = await rowmill.submit(chaosPipeline(pipeline), items);
  const worker: Child = startChaosWorker({
    databaseUrl: database.url,
    pipeline,
    handler: { kind: 'hostile' },
    concurrency: 20,
    timeoutMs: 200,
    settings: {
      lockFloorMs: 30_000,
      lockCapMs: 30_000,
      claimMin: 200,
      maxAttemptsError: 1,
      maxAttemptsNotFound: 1,
    },
  });
  const finished = whenFinished(rowmill, jobId);
  const died = worker.exited.then(({ code, signal }) => {
    throw new Error(`the worker died with ${signal ?? `code ${code}`}: ${worker.stderrTail}`);
  });
  died.catch(() => {});
  finished.catch(() => {});
  await Promise.race([finished, died]);
  return database.query<ResultRow>(
    `select i.input ->> 'hostile' as name, r.status::text, r.error_class, r.error, r.result
     from items i left join results r using (job_id, seq) where i.job_id = $1 order by seq`,
    [jobId],
  );
}

function expectEnd(row: ResultRow, expected: HostileCase): void {
  expect.soft(row.status, row.name!).toBe(expected.status);
  if (expected.errorClass !== undefined) expect.soft(row.error_class, row.name!).toBe(expected.errorClass);
  if (expected.message !== undefined) expect.soft(row.error, row.name!).toMatch(expected.message);
  if (expected.result !== undefined) expect.soft(row.result, row.name!).toEqual(expected.result);
  expect.soft(row.error?.length ?? 0, `${row.name}: length of the error`).toBeLessThan(8192);
}

test('hostile handlers harm only their own items', async () => {
  database.keepIfFailed();
  const names = Object.keys(HOSTILE_CASES);
  const rows = await runHostileJob('hostile', names);
  const neighbours = rows.filter((row) => row.name === null);
  expect(neighbours).toHaveLength(2 * names.length);
  expect(new Set(neighbours.map((row) => row.status))).toEqual(new Set(['DONE']));
  for (const row of rows) if (row.name !== null) expectEnd(row, HOSTILE_CASES[row.name]!);

  const [stored] = await database.query<{ bytes: Buffer }>(
    `select convert_to(r.result ->> 'text', 'UTF8') as bytes
     from items i join results r using (job_id, seq) where i.input ->> 'hostile' = 'returns emoji'`,
  );
  expect(stored!.bytes.equals(Buffer.from(EMOJI))).toBe(true);
});

test.each(Object.entries(HOSTILE_CASES_ALONE))('a worker survives %s', async (name, expected) => {
  const rows = await runHostileJob(`alone-${Object.keys(HOSTILE_CASES_ALONE).indexOf(name)}`, [name]);
  expect(rows.map((row) => row.status)).toEqual(['DONE', expected.status, 'DONE']);
  expectEnd(rows[1]!, expected);
});

// Output and exit codes of rowmill counters and its check.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { defineCounter, definePipeline, openRowmill } from '../../src/index.ts';
import { recountCounters } from '../support/counter-recount.ts';
import { runCommand } from '../support/run-command.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

const folder = mkdtempSync(join(tmpdir(), 'rowmill-counters-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rowmill = (...args: string[]) => runCommand({ folder, databaseUrl: database.url }, args);

test('the check finds manual changes at every level and repairs them', async () => {
  const none = await rowmill('counters');
  expect(none).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('No worker has registered a counter'),
  });
  const notes = defineCounter({
    name: 'notes',
    scope: 'project',
    entity: 'document',
    measures: ['notes', 'links'],
  });
  const pipeline = definePipeline({
    name: 'counting',
    counters: [notes],
    phases: [
      {
        name: 'only',
        run: ({ n }, { count }) => {
          count(notes, { scope: `p${Number(n) % 2}`, entity: `d${n}` }, { notes: 10, links: Number(n) });
          return { n };
        },
      },
    ],
  });
  const library = await openRowmill({ databaseUrl: database.url });
  const worker = await library.startWorker([pipeline]);
  const jobId = await library.submit(
    pipeline,
    [0, 1, 2, 3].map((n) => ({ n })),
  );
  const other = await library.submit(pipeline, [{ n: 4 }]);
  for (const each of [jobId, other]) await library.whenFinished(each);
  await worker.stop();
  await library.close();
  const doctorOf = async (of: string) =>
    (await diagnose(database.url, { jobId: of })).invariants.find(
      ({ invariant }) => invariant === 'counters',
    )!;

  expect((await rowmill('counters')).stdout).toMatch(/notes +project +document +notes 50, links 10/);
  const listed = JSON.parse((await rowmill('counters', '--json')).stdout) as unknown[];
  expect(listed).toMatchObject([{ name: 'notes', total: { notes: 50, links: 10 } }]);
  expect(await rowmill('counters', 'check')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Compared 5 entries, 5 entities, 2 scopes'),
  });
  expect(await diagnose(database.url)).toMatchObject({ ok: true });
  expect(await diagnose(database.url, { jobId })).toMatchObject({ ok: true });

  await database.query(`update counter_entries set measured = '{3,0}' where entity = 'd0'`);
  await database.query(`update counter_entities set measured = '{10,9}' where entity = 'd3'`);
  await database.query(`insert into counter_scope_deltas (counter_id, owner_id, scope, change)
                        select counter_id, owner_id, 'p1', '{0,1}' from counter_entries limit 1`);
  const found = await rowmill('counters', 'check');
  expect(found.code).toBe(1);
  expect(found.stdout).toMatch(/DRIFT +notes of \S+, p0 \/ d0: notes is 3, should be 10\n/);
  expect(found.stdout).toMatch(/DRIFT +notes of \S+, d3: links is 9, should be 3\n/);
  expect(found.stdout).toMatch(/DRIFT +notes of \S+, p1: links is 5, should be 4\n/);
  const counters = (await diagnose(database.url)).invariants.find(
    ({ invariant }) => invariant === 'counters',
  );
  expect(counters!.problems.map(({ problem }) => problem)).toContainEqual(
    expect.stringMatching(/counter notes of \S+, p0 \/ d0: notes is 3, the recount says 10/),
  );
  // The doctor of one job checks the entries to which the job contributes.
  expect((await doctorOf(jobId)).problems).toEqual([
    { jobId, problem: expect.stringMatching(/p0 \/ d0: notes is 3, the recount says 10/) },
  ]);
  expect(await doctorOf(other)).toMatchObject({ problems: [], unchecked: null });
  expect(await rowmill('counters', 'check', 'unknown')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('COUNTER_NOT_FOUND'),
  });

  const repaired = await rowmill('counters', 'check', 'notes', '--repair', '--json');
  expect(repaired.code).toBe(0);
  expect(JSON.parse(repaired.stdout)).toMatchObject({ ok: true, repaired: 3, complete: true });
  expect(await rowmill('counters', 'check')).toMatchObject({ code: 0 });
  expect(await recountCounters(database)).toEqual([]);
  expect(
    await database.query(`select detail from audit where action = 'counters.repair' order by at`),
  ).toEqual(['entries', 'entities', 'scopes'].map((level) => ({ detail: { level, rows: 1 } })));

  // A deleted entry: its sums can be repaired, but its contributions no longer belong to a known entry.
  await database.query(`delete from counter_entries where entity = 'd2'`);
  const lost = await rowmill('counters', 'check', '--repair');
  expect(lost.code).toBe(1);
  expect(lost.stdout).toMatch(
    new RegExp(`LOST +job ${jobId}: 1 contributions of 1 rows belong to deleted entries`),
  );
  expect(lost.stdout).toMatch(/Repaired 2\n/);
  expect((await doctorOf(jobId)).problems).toEqual([
    { jobId, problem: '1 counter entries that it feeds no longer exist' },
  ]);
  expect((await diagnose(database.url)).invariants.flatMap(({ problems }) => problems)).toEqual([
    { jobId, problem: '1 contributions of 1 rows belong to counter entries that no longer exist' },
  ]);
  const again = await openRowmill({ databaseUrl: database.url });
  await again.reprocess(jobId, { seqs: [[2, 3]] });
  const rerun = await again.startWorker([pipeline]);
  await again.whenFinished(jobId);
  await rerun.stop();
  await again.close();
  expect(await rowmill('counters', 'check')).toMatchObject({ code: 0 });
  expect((await rowmill('counters')).stdout).toMatch(/notes 50, links 10/);
  expect(await recountCounters(database)).toEqual([]);
});

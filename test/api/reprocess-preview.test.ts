// The preview of a reprocess counts exactly the rows that the reprocess then runs.
import { describe, expect, test } from 'vitest';
import type { ItemStatus } from '../../src/core/items/outcome.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { send } from '../support/api-pipelines.ts';
import { jobWithItems } from '../support/job-factory.ts';
import { type SeededResult, seedResults } from '../support/seed-results.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const ROWS = 60;
const STATUSES: ItemStatus[] = ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'];
const CLASSES = ['permanent', 'timeout', 'invalid', 'overloaded'];

/** Rows of every status and error class, with few and many attempts, some of them in an earlier generation. */
function results(): SeededResult[] {
  return Array.from({ length: ROWS }, (_, seq): SeededResult[] => {
    const status = STATUSES[seq % STATUSES.length]!;
    const errorClass = status === 'ERROR' ? CLASSES[seq % CLASSES.length]! : null;
    const last = { seq, status, errorClass, error: errorClass && `it said ${errorClass}`, attempt: seq % 7 };
    if (seq % 3 > 0) return [last];
    return [
      { seq, status: 'ERROR', errorClass: 'permanent', error: 'before', attempt: 6 },
      { ...last, generation: 2 },
    ];
  }).flat();
}

async function endedJob(context: EngineContext): Promise<string> {
  const jobId = await jobWithItems(context, { items: ROWS, input: (n) => ({ n, word: `word ${n % 4}` }) });
  await database.query('delete from spans where job_id = $1', [jobId]);
  await database.query(
    `update jobs set state = 'DONE', generation = 2, sealed_at = now(), finished_at = now() where job_id = $1`,
    [jobId],
  );
  await seedResults(database, jobId, results());
  return jobId;
}

describe('the preview of a reprocess', () => {
  test.each([
    ['failed rows', { scope: 'job', statuses: ['ERROR', 'NOT_FOUND'] }],
    ['permanent failures too', { scope: 'job', statuses: ['ERROR'], includePermanent: true }],
    ['rows at the attempt limit too', { scope: 'job', statuses: ['ERROR'], resetAttempts: true }],
    ['every row', { scope: 'job', statuses: STATUSES, includePermanent: true, resetAttempts: true }],
    ['every row within the guard rails', { scope: 'job', statuses: STATUSES }],
    ['some rows', { scope: 'items', itemIds: [1, 6, 7, 11, 26], statuses: STATUSES }],
    ['an error group', { scope: 'errorGroup', errorGroup: 'timeout: it said timeout' }],
    ['a search', { scope: 'filter', search: 'word 1', statuses: ['ERROR', 'NOT_FOUND', 'DONE'] }],
  ])('counts %s as the reprocess then runs them', async (_, body) => {
    const { url, context } = await startTestApi(database.url, { settings: { reprocessMaxAttempts: 5 } });
    const jobId = await endedJob(context.engine);
    const preview = await send(url, 'POST', `/api/jobs/${jobId}/reprocess/preview`, body);
    expect(preview.status).toBe(200);
    expect(preview.body.selected).toBeGreaterThan(0);
    const again = await send(url, 'POST', `/api/jobs/${jobId}/reprocess/preview`, body);
    expect(again.body).toEqual(preview.body);
    const done = await send(url, 'POST', `/api/jobs/${jobId}/reprocess`, body);
    expect(done.status).toBe(202);
    const { selected, leftOut } = done.body;
    expect(preview.body).toEqual({ selected, leftOut });
    const [spans] = await database.query<{ rows: string }>(
      'select sum(item_count) as rows from spans where job_id = $1',
      [jobId],
    );
    expect(Number(spans!.rows)).toBe(selected);
  });

  test('reports that nothing would run, and refuses what a reprocess refuses', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobId = await endedJob(context.engine);
    const preview = (body: object) => send(url, 'POST', `/api/jobs/${jobId}/reprocess/preview`, body);
    const { body } = await preview({ scope: 'errorGroup', errorGroup: 'permanent: it said permanent' });
    expect(body).toMatchObject({ selected: 0 });
    expect(body.leftOut.permanent).toBeGreaterThan(0);
    expect((await preview({ scope: 'items' })).body.code).toBe('REPROCESS_INVALID');
    expect((await preview({ scope: 'job', ifGeneration: 1 })).body.code).toBe('JOB_CONFLICT');
    expect((await preview({ scope: 'items', itemIds: [ROWS] })).body.code).toBe('ITEM_NOT_FOUND');
  });
});

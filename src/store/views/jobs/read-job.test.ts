import { expect, test } from 'vitest';
import { openExplainer, rowsVisited } from '../../../../test/support/explain-statement.ts';
import { jobWithItems } from '../../../../test/support/job-factory.ts';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import { findJobsByPrefix } from './read-job.ts';

const database = useTestDatabase();

test('jobs are found by the first characters of their ids, by primary key and not by a scan', async () => {
  const context = database.context();
  for (let n = 0; n < 40; n += 1) await jobWithItems(context, { items: 0 });
  const ids = (await database.query<{ id: string }>('select job_id as id from jobs')).map(({ id }) => id);
  const [jobId] = ids as [string];
  const found = async (prefix: string, owners: string[] | null = null, limit = 100) =>
    (await findJobsByPrefix(context.db, prefix, owners, limit)).map((job) => job.jobId);
  for (const length of [1, 2, 8, 9, 13, 36]) {
    const prefix = jobId.slice(0, length);
    expect(await found(prefix)).toEqual(ids.filter((id) => id.startsWith(prefix)).sort());
  }
  expect(await found(jobId.toUpperCase().replaceAll('-', ''))).toEqual([jobId]);
  expect(await found(jobId, ['somebody-else'])).toEqual([]);
  expect(await found('what?')).toEqual([]);
  const explainer = openExplainer(database.directUrl, true);
  const { plan } = await explainer.explain((db) => findJobsByPrefix(db, jobId.slice(0, 8), null, 10));
  await explainer.close();
  // The job, at the index and at the limit.
  expect(rowsVisited(plan)).toBeLessThanOrEqual(2);
});

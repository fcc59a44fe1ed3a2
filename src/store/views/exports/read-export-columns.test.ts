import { describe, expect, it } from 'vitest';
import { jobWithItems } from '../../../../test/support/job-factory.ts';
import { seedResultColumns, seedResults } from '../../../../test/support/seed-results.ts';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import { readJob } from '../jobs/read-job.ts';
import { readExportColumns } from './read-export-columns.ts';

const database = useTestDatabase();

async function columnsOf(jobId: string, generation = 1) {
  const { db } = database.context();
  return readExportColumns(db, (await readJob(db, jobId))!, generation);
}

describe('readExportColumns', () => {
  it('returns the columns of the file in order, with their headers', async () => {
    const jobId = await jobWithItems(database.context(), { items: 1, input: () => ({ b: 1, a: 2 }) });
    const inputColumns = [
      { key: 'z', header: 'Z z' },
      { key: 'a', header: 'A' },
      { key: 'a_2', header: 'A' },
    ];
    await database.query('update jobs set input_columns = $2 where job_id = $1', [
      jobId,
      JSON.stringify(inputColumns),
    ]);
    expect(await columnsOf(jobId)).toEqual({ input: inputColumns, result: [], hasMore: false });
  });

  it('uses the keys of the first rows if the job has no stored columns', async () => {
    const jobId = await jobWithItems(database.context(), {
      items: 1002,
      input: (n) =>
        n === 0 ? { first: 1 } : n === 999 ? { first: 1, late: 2 } : n > 999 ? { later: 1 } : { first: 1 },
    });
    const names = async () => (await columnsOf(jobId)).input.map((column) => column.key);
    expect(await names()).toEqual(['first', 'late', 'later']);
    await database.query(`update jobs set input_columns = '[]' where job_id = $1`, [jobId]);
    expect(await names()).toEqual(['first', 'late']);
  });

  it('orders result columns by position and name, over all generations up to the requested one', async () => {
    const jobId = await jobWithItems(database.context(), { items: 1 });
    await seedResultColumns(database, jobId, ['price', 'currency']);
    await seedResultColumns(database, jobId, ['added', 'price', 'Before'], 2);
    await seedResultColumns(database, jobId, ['', 'future'], 3);
    expect(await columnsOf(jobId, 1)).toMatchObject({ result: ['price', 'currency'], hasMore: false });
    expect(await columnsOf(jobId, 2)).toMatchObject({
      result: ['added', 'price', 'currency', 'Before'],
      hasMore: false,
    });
    expect(await columnsOf(jobId, 3)).toMatchObject({ hasMore: true });
    expect((await columnsOf(jobId, 3)).result).not.toContain('');
  });

  it('reads the results of a job that has no stored result columns', async () => {
    const context = database.context();
    const small = await jobWithItems(context, { items: 5 });
    await seedResults(database, small, [
      { seq: 0, result: { b: 1 } },
      { seq: 1, result: 7 },
      { seq: 2, result: null },
      { seq: 3, result: { a: 1, b: 2 } },
      { seq: 4, status: 'ERROR', error: 'no' },
    ]);
    expect(await columnsOf(small)).toMatchObject({ result: ['b', 'result', 'a'], hasMore: false });
    const large = await jobWithItems(context, { items: 1500 });
    await seedResults(database, large, [
      { seq: 0, result: { a: 1 } },
      { seq: 1400, result: { unseen: 1 } },
    ]);
    expect(await columnsOf(large)).toMatchObject({ result: ['a'], hasMore: true });
  });
});

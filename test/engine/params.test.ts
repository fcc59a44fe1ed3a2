// The parameters of a job reach every handler in the form that the pipeline's schema returns.
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { definePipeline, openRowmill, type Rowmill } from '../../src/index.ts';
import { runPipeline } from '../../src/testing/run-pipeline.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
let rowmill: Rowmill;
afterEach(() => rowmill?.close());

const pipeline = definePipeline({
  name: 'with-params',
  params: z.object({ currency: z.string(), rounded: z.boolean().default(true) }),
  outputs: [],
  phases: [
    { name: 'one', run: (_row, { params }) => ({ one: params }) },
    {
      name: 'many',
      batch: { maxItems: 10 },
      runMany: (items, { params }) => items.map((item) => ({ many: params, same: item.params === params })),
    },
  ],
});
const given = { currency: 'EUR' };
const parsed = { currency: 'EUR', rounded: true };

test('each job has its own parameters, also when jobs run side by side', async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  const worker = await rowmill.startWorker([pipeline]);
  const currencies = ['EUR', 'USD', 'CHF'];
  const jobs = await Promise.all(
    currencies.map((currency) => rowmill.submit(pipeline, [{ n: 1 }, { n: 2 }], { params: { currency } })),
  );
  for (const [at, jobId] of jobs.entries()) {
    await rowmill.whenFinished(jobId);
    for await (const { result } of rowmill.results(jobId, pipeline))
      expect(result).toEqual({ many: { currency: currencies[at], rounded: true }, same: true });
  }
  await worker.stop();
});

test('results cannot be read with the types of another pipeline', async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  const other = definePipeline({ name: 'other', phases: [{ name: 'only', run: () => 5 }] });
  const jobId = await rowmill.submit(other, [{ n: 1 }]);
  await expect(rowmill.results(jobId, pipeline).next()).rejects.toMatchObject({
    code: 'JOB_CONFLICT',
    message: `job ${jobId} belongs to pipeline other, not ${pipeline.name}`,
  });
  expect((await rowmill.results(jobId, other).next()).value).toMatchObject({
    status: 'PENDING',
    result: null,
  });
});

test('parameters that the schema refuses create no job', async () => {
  rowmill = await openRowmill({ databaseUrl: database.url });
  // @ts-expect-error: the currency is a text
  const refused = rowmill.submit(pipeline, [{ n: 1 }], { params: { currency: 5 } });
  await expect(refused).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
});

test('parameters also work in tests of pipelines', async () => {
  const run = await runPipeline(pipeline, [{ n: 1 }], { params: given });
  expect(run.results.map(({ result }) => result)).toEqual([{ many: parsed, same: true }]);
});

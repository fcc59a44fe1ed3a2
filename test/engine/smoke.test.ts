import { expect, test } from 'vitest';
import { openRowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

test('a job of a thousand items is completed and summarised once', async () => {
  const rowmill = await openRowmill({ databaseUrl: database.url });
  const pipeline = definePipeline({
    name: 'double',
    phases: [
      { name: 'double', run: async (input: Record<string, unknown>) => ({ twice: Number(input.n) * 2 }) },
    ],
  });
  const worker = await rowmill.startWorker([pipeline]);
  const jobId = await rowmill.submit(
    pipeline,
    Array.from({ length: 1000 }, (_, n) => ({ n })),
  );
  const summary = await rowmill.whenFinished(jobId);
  expect(summary.counts).toMatchObject({ DONE: 1000, ERROR: 0 });
  expect(await worker.stop()).toEqual({ unpersisted: [] });
  await rowmill.close();
});

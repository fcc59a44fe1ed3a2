// The unit of costs: declared by the pipeline, kept by the job, and beside every cost that the API returns.
import { expect, test } from 'vitest';
import { definePipeline } from '../../src/index.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { send } from '../support/api-pipelines.ts';
import { stopAfterTest } from '../support/stop-after-test.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

const paid = (costUnit?: string) =>
  definePipeline({
    name: costUnit === undefined ? 'plain' : 'paid',
    ...(costUnit !== undefined && { costUnit }),
    phases: [{ name: 'only', cost: 0.25, run: () => ({ ok: true }) }],
  });

test('a job keeps the unit of its pipeline, and shows it beside its costs', async () => {
  const [inEuro, plain] = [paid('EUR'), paid()];
  const rowmill = await openRowmill({ databaseUrl: database.url });
  stopAfterTest(() => rowmill.close());
  const worker = await rowmill.startWorker([inEuro, plain]);
  stopAfterTest(() => worker.stop());
  // The server has a later definition with another unit: amounts recorded so far keep theirs.
  const { url } = await startTestApi(database.url, { pipelines: [paid('USD')] });
  const jobId = await rowmill.submit(inEuro, [{ n: 1 }, { n: 2 }]);
  const other = await rowmill.submit(plain, [{ n: 1 }]);
  await Promise.all([jobId, other].map((each) => rowmill.whenFinished(each)));
  const get = async (path: string) => (await send(url, 'GET', `/api/v1${path}`)).body;

  const job = await get(`/jobs/${jobId}`);
  expect(job).toMatchObject({ cost: 0.5, costUnit: 'EUR' });
  expect(await get(`/jobs/${other}`)).toMatchObject({ cost: 0.25, costUnit: null });
  const { items } = await get('/jobs');
  expect(items.find((each: { jobId: string }) => each.jobId === jobId)).toMatchObject({
    cost: 0.5,
    costUnit: 'EUR',
  });
  for (const path of ['summary', 'timeline', 'items/0', 'items/0/trace'])
    expect([path, (await get(`/jobs/${jobId}/${path}`)).costUnit]).toEqual([path, 'EUR']);
  expect((await get('/pipelines')).items).toMatchObject([{ name: 'paid', costUnit: 'USD' }]);

  const { items: files } = await get(`/jobs/${jobId}/files`);
  const { fileId } = files.find(({ name }: { name: string }) => name.endsWith('summary.json'));
  expect(await get(`/jobs/${jobId}/files/${encodeURIComponent(fileId)}`)).toMatchObject({
    cost: 0.5,
    costUnit: 'EUR',
  });
  // Webhooks send the details of events as they are recorded.
  const rows = await database.query(
    `select detail from job_events where job_id = $1 and kind = 'job.finished'`,
    [jobId],
  );
  expect(rows).toMatchObject([{ detail: { cost: 0.5, costUnit: 'EUR' } }]);
});

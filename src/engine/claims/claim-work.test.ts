import { expect, it } from 'vitest';
import { jobWithItems } from '../../../test/support/job-factory.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { newId } from '../../platform/random.ts';
import { findClaimableOfJob } from '../../store/views/spans/find-claimable.ts';
import type { EngineContext } from '../engine-context.ts';
import { type ClaimContext, claimWork } from './claim-work.ts';
import { JobParams } from './job-params.ts';

const database = useTestDatabase();
const ASKED = { maxItems: 100, leaseMs: 60_000 };

function openContext(claims: EngineContext, background: Promise<unknown>[] = []): ClaimContext {
  return {
    claims,
    control: database.context(),
    workerId: newId(),
    params: new JobParams(),
    inBackground: (work) => background.push(work),
  };
}

const spansOf = (jobId: string) =>
  database.query(
    'select items::text, worker_id is not null as leased from spans where job_id = $1 order by 1',
    [jobId],
  );

it('releases items that do not fit into memory before it hands over the claim', async () => {
  const context = database.context({ claimMaxBytes: 1024 });
  const jobId = await jobWithItems(context, { items: 10, input: (n) => ({ text: `row ${n}`.padEnd(600) }) });
  const [work] = await findClaimableOfJob(context.db, jobId);
  const claim = (await claimWork(openContext(context), work!, ASKED))!;
  expect(claim.items.map(({ seq }) => seq)).toEqual([0, 1]);
  expect(claim).toMatchObject({ itemCount: 2, ranges: [[0, 2]], params: {}, budget: null, itemCosts: null });
  expect(await spansOf(jobId)).toEqual([
    { items: '{[0,2)}', leased: true },
    { items: '{[2,10)}', leased: false },
  ]);
});

it('marks the job as started, once', async () => {
  const context = database.context();
  const jobId = await jobWithItems(context, { items: 10 });
  const [work] = await findClaimableOfJob(context.db, jobId);
  const background: Promise<unknown>[] = [];
  const claims = openContext(context, background);
  await claimWork(claims, work!, { ...ASKED, maxItems: 2 });
  await claimWork(claims, work!, { ...ASKED, maxItems: 2 });
  await Promise.all(background);
  expect(background).toHaveLength(1);
  expect(
    await database.query('select started_at is null as waits from jobs where job_id = $1', [jobId]),
  ).toEqual([{ waits: false }]);
});

it.each(['the claim', 'a read after it'])('releases all items when the reply to %s is lost', async (lost) => {
  const context = database.context();
  const jobId = await jobWithItems(context, { items: 10 });
  const [work] = await findClaimableOfJob(context.db, jobId);
  const background: Promise<unknown>[] = [];
  const claims = openContext({ ...context }, background);
  const fail = (): never => {
    throw Object.assign(new Error('gone'), { code: '22P02' });
  };
  if (lost === 'the claim')
    claims.claims.db = {
      run: async (...query: Parameters<EngineContext['db']['run']>) => {
        await context.db.run(...query);
        return fail();
      },
    } as unknown as EngineContext['db'];
  else claims.params.of = async () => fail();
  await expect(claimWork(claims, work!, ASKED)).rejects.toThrow('gone');
  await Promise.all(background);
  expect(await spansOf(jobId)).toEqual([{ items: '{[0,10)}', leased: false }]);
});

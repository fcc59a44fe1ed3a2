// Jobs that cannot run cost the search for work nothing, however many there are. The tests count pages, not
// milliseconds.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { setOwner } from '../../src/engine/limits/set-owner.ts';
import { newId } from '../../src/platform/random.ts';
import { findClaimable } from '../../src/store/views/spans/find-claimable.ts';
import { type Explainer, openExplainer } from '../support/explain-statement.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const MANY = 10_000;
/** An index of many rows is a level or two deeper. */
const MORE_PAGES = 40;

let explainer: Explainer;
beforeAll(() => {
  explainer = openExplainer(database.directUrl, true);
});
afterAll(() => explainer.close());

/** Adds copies of a job, each with a ready span. */
async function addJobs(jobId: string, count: number, state: string): Promise<void> {
  await database.query(
    `with copies as (
       insert into jobs (job_id, owner_id, pipeline, phases, state, created_at)
       select gen_random_uuid(), owner_id, pipeline, phases, $3::job_state, now() + n * interval '1 millisecond'
       from jobs, generate_series(1, $2::int) n where job_id = $1
       returning job_id
     )
     insert into spans (job_id, generation, phase, items, item_count, ready_at)
     select job_id, 1, 0, '{[0,10)}', 10, now() - interval '1 second' from copies`,
    [jobId, count, state],
  );
}

test.each([
  ['paused', 'PAUSED', null],
  ['finished', 'DONE', null],
  ['waiting for their turn behind a limit', 'QUEUED', 2],
])(
  'the search for work costs no more with ten thousand jobs that are %s',
  async (_, state, maxRunningJobs) => {
    await database.query('truncate jobs, spans, owners');
    const engine = database.context();
    const pipeline = newId();
    if (maxRunningJobs !== null) await setOwner(engine, 'many', { maxRunningJobs }, 'tests');
    const { jobId } = await createJob(engine, { pipeline, phases: ['only'], ownerId: 'many' });
    await createJob(engine, { pipeline, phases: ['only'], ownerId: 'other' });
    await addJobs(jobId, 10, state);
    await database.query('analyze jobs, spans, owners');
    const few = await explainer.explain((db) => findClaimable(db, [pipeline]));
    await addJobs(jobId, MANY, state);
    for (const when of ['before', 'after']) {
      if (when === 'after') await database.query('analyze jobs, spans');
      const many = await explainer.explain((db) => findClaimable(db, [pipeline]));
      console.log(`${state}: ${few.pages} pages with few, ${many.pages} with many, ${when} statistics`);
      expect(many.pages - few.pages, JSON.stringify(many.plan, null, 1)).toBeLessThan(MORE_PAGES);
    }
    const { work } = await findClaimable(engine.db, [pipeline]);
    expect(work.length).toBeLessThanOrEqual(maxRunningJobs ?? 1);
  },
);

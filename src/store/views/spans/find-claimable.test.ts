import { beforeAll, describe, expect, it } from 'vitest';
import { seededSequence } from '../../../../examples/seeded-sequence.ts';
import { depth } from '../../../../test/support/depth.ts';
import { claimRequest } from '../../../../test/support/job-factory.ts';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import type { EngineContext } from '../../../engine/engine-context.ts';
import { createJob } from '../../../engine/jobs/create-job.ts';
import { claimItems } from '../../commands/spans/claim-items.ts';
import { findClaimable } from './find-claimable.ts';

const database = useTestDatabase();
let engine: EngineContext;
beforeAll(() => {
  engine = database.context();
});

const ROUNDS = depth(15, 60);
const PIPELINES = ['one', 'two', 'other'];

/** Computes in one aggregate what the statement finds by index lookups: the reference result. */
const PLAINLY = `
  select j.job_id, s.phase, s.crashes > 0 as suspect, j.priority, j.started_at is null or j.state = 'QUEUED' as unstarted,
         greatest(0, extract(epoch from (min(s.ready_at) - $2::timestamptz)) * 1000)::float8 as ready_in_ms
  from jobs j join spans s on s.job_id = j.job_id
  where s.worker_id is null and s.ready_at < 'infinity' and j.state in ('INGESTING', 'QUEUED', 'RUNNING')
    and j.pipeline = any($1)
  group by j.job_id, s.phase, s.crashes > 0`;

const FIRST_IN_LINE = `
  select lower(s.items)::text as seq from spans s join jobs j using (job_id)
  where s.job_id = $1 and s.phase = $2 and (s.crashes > 0) = $3 and s.worker_id is null and s.ready_at <= now()
    and j.state in ('INGESTING', 'QUEUED', 'RUNNING')
  order by s.priority desc, s.ready_at, s.span_id limit 1`;
const CLAIMS = [0, 1, 2].flatMap((phase) => [false, true].map((suspects) => [phase, suspects] as const));

interface PlainRow {
  job_id: string;
  phase: number;
  suspect: boolean;
  priority: number;
  unstarted: boolean;
  ready_in_ms: number;
}

type Random = () => number;
const oneOf = <T>(random: Random, values: readonly T[]): T => values[Math.floor(random() * values.length)]!;

async function seedRandomJobs(random: Random): Promise<string[]> {
  await database.query('truncate jobs, spans, items');
  const jobIds: string[] = [];
  for (let n = 1 + Math.floor(random() * 4); n > 0; n -= 1) {
    const phases = ['a', 'b', 'c'].slice(0, 1 + Math.floor(random() * 3));
    const { jobId } = await createJob(engine, {
      pipeline: oneOf(random, PIPELINES),
      phases,
      priority: oneOf(random, [0, 0, 3]),
    });
    jobIds.push(jobId);
    const state = oneOf(random, ['INGESTING', 'QUEUED', 'RUNNING', 'RUNNING', 'PAUSED', 'CANCELLING']);
    await database.query(
      'update jobs set state = $2, started_at = case when $3 then now() end where job_id = $1',
      [jobId, state, random() < 0.5],
    );
    const spans = Math.floor(random() * 12);
    await database.query(
      `insert into items (job_id, seq, input_bytes, input) select $1, n, 2, '{}' from generate_series(0, $2::int) n`,
      [jobId, spans],
    );
    for (let seq = 0; seq < spans; seq += 1) {
      const leased = random() < 0.2;
      await database.query(
        `insert into spans (job_id, generation, phase, items, item_count, priority, crashes, ready_at, worker_id, token, expires_at)
         values ($1, 1, $2, $3, 1, $4, $5, $6, $7, $8, $9)`,
        [
          jobId,
          Math.floor(random() * phases.length),
          `{[${seq},${seq + 1})}`,
          oneOf(random, [-32_768, -5, 0, 0, 7, 32_767]),
          oneOf(random, [0, 0, 1, 2]),
          oneOf(random, ['infinity', '2020-01-01', '2020-01-02', '2120-01-01', '2120-01-02']),
          leased ? crypto.randomUUID() : null,
          leased ? crypto.randomUUID() : null,
          leased ? '2120-01-01' : null,
        ],
      );
    }
  }
  return jobIds;
}

describe('on random spans', () => {
  const seed = Number(process.env.TEST_SEED);
  const random = seededSequence(seed);

  it(`finds the same work per job, phase and kind as an aggregate over all spans (TEST_SEED=${seed})`, async () => {
    let found = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      await seedRandomJobs(random);
      const pipelines = PIPELINES.slice(0, 2);
      const { work } = await findClaimable(engine.db, pipelines);
      const all = await database.query<PlainRow>(PLAINLY, [pipelines, new Date()]);
      // Jobs without spans that are ready soon are not searched.
      const soon = new Set(all.filter((row) => row.ready_in_ms < 10_000).map((row) => row.job_id));
      const plain = all.filter((row) => soon.has(row.job_id));
      const key = (work: { jobId: string; phase: number; suspect: boolean }): string =>
        `${work.jobId} ${work.phase} ${work.suspect}`;
      const expected = new Map(plain.map((row) => [key({ ...row, jobId: row.job_id }), row]));
      expect(new Set(work.map(key))).toEqual(new Set(expected.keys()));
      expect(work).toHaveLength(expected.size);
      for (const one of work) {
        const { ready_in_ms, priority, unstarted } = expected.get(key(one))!;
        expect(one).toMatchObject({ priority, unstarted });
        // The clock advances between the two queries; the ready times are a day apart.
        expect(Math.abs(one.readyInMs - ready_in_ms)).toBeLessThan(3_600_000);
        found += 1;
      }
      const priorities = work.map(({ priority }) => priority);
      expect(priorities, 'highest first').toEqual([...priorities].sort((a, b) => b - a));
    }
    expect(found, 'void: nothing was found').toBeGreaterThan(0);
  });

  it(`a claim takes the first span in queue order, and nothing when there is none (TEST_SEED=${seed})`, async () => {
    let claimed = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const jobId of await seedRandomJobs(random)) {
        for (const [phase, suspects] of CLAIMS) {
          const [first] = await database.query<{ seq: string }>(FIRST_IN_LINE, [jobId, phase, suspects]);
          const claim = await claimItems(engine.db, claimRequest(jobId, { phase, suspects, maxItems: 1 }));
          expect(claim?.items.map(({ seq }) => seq)).toEqual(first && [Number(first.seq)]);
          if (first) claimed += 1;
        }
      }
    }
    expect(claimed, 'void: nothing was claimed').toBeGreaterThan(0);
  });
});

// Compares the trend of an error group with a plain count of the same moments.
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import type { EngineContext } from '../../../engine/engine-context.ts';
import type { Statement } from '../../../platform/database.ts';
import { newId } from '../../../platform/random.ts';
import { upsertErrorGroups } from './upsert-error-groups.ts';

const database = useTestDatabase();
let context: EngineContext;
beforeAll(() => {
  context = database.context();
});

interface Stored {
  trend: string[];
  trend_step_s: number;
  occurrences: string;
  failed: string;
}

const MAKE_OLDER: Statement = {
  name: 'make-group-older',
  text: `update error_groups set first_seen = now() - $2::float8 * interval '1 second' where job_id = $1`,
};

/**
 * Counts occurrences at an age of the group. The clock does not advance within a transaction, so the group is made
 * older.
 */
async function count(jobId: string, ageS: number, occurrences: number): Promise<Stored> {
  const group = { signature: 'permanent: x', errorClass: 'permanent', sample: 'x', sampleSeq: 0 };
  await context.db.transaction(async (tx) => {
    await tx.run(MAKE_OLDER, [jobId, ageS]);
    await upsertErrorGroups(tx, jobId, 1, 0, [{ ...group, occurrences, failed: 0 }]);
  });
  const rows = await database.query<Stored>('select * from error_groups where job_id = $1', [jobId]);
  return rows[0]!;
}

test('neighbouring seconds are separate steps, with zeros for seconds without errors', async () => {
  const jobId = newId();
  await count(jobId, 0, 2);
  await count(jobId, 0, 3);
  await count(jobId, 4, 7);
  const stored = await count(jobId, 2, 1);
  expect(stored).toMatchObject({ trend: ['5', '0', '1', '0', '7'], trend_step_s: 1, occurrences: '13' });
});

test('a long-lived group gets longer steps and keeps its counts', async () => {
  const jobId = newId();
  for (let age = 0; age < 32; age += 1) await count(jobId, age, 1);
  expect((await count(jobId, 32, 1)).trend.map(Number)).toEqual([...Array.from({ length: 16 }, () => 2), 1]);
  const stored = await count(jobId, 1000, 5);
  expect(stored).toMatchObject({ trend_step_s: 32, occurrences: '38' });
  expect(stored.trend.map(Number)).toEqual([32, 1, ...Array.from({ length: 29 }, () => 0), 5]);
});

test('for any ages, a trend stays within its length and counts every occurrence in its step', async () => {
  const moments = fc.array(fc.tuple(fc.integer({ min: 0, max: 200_000 }), fc.integer({ min: 1, max: 9 })), {
    minLength: 1,
    maxLength: 12,
  });
  await fc.assert(
    fc.asyncProperty(moments, async (unsorted) => {
      const given = unsorted.toSorted(([a], [b]) => a - b);
      const jobId = newId();
      await count(jobId, 0, 1);
      for (const [age, occurrences] of given) await count(jobId, age, occurrences);
      const [{ trend, trend_step_s: step }] = (await database.query<Stored>(
        'select * from error_groups where job_id = $1',
        [jobId],
      )) as [Stored];
      const oldest = given.at(-1)![0];
      let wanted = 1;
      while (Math.floor(oldest / wanted) >= 32) wanted *= 2;
      expect(step).toBe(wanted);
      const counts = Array.from({ length: Math.floor(oldest / step) + 1 }, () => 0);
      for (const [age, occurrences] of [[0, 1] as const, ...given])
        counts[Math.floor(age / step)]! += occurrences;
      expect(trend.map(Number)).toEqual(counts);
    }),
    { numRuns: 25 },
  );
});

test('a group from before trends starts one at its current age', async () => {
  const jobId = newId();
  await count(jobId, 0, 4);
  await database.query(`update error_groups set trend = '{}' where job_id = $1`, [jobId]);
  expect((await count(jobId, 3, 2)).trend).toEqual(['0', '0', '0', '2']);
});

// Kills a process at every named fault point, at a later passage; in the deep lane at the first passage too. The next
// process finds a state from which every item gets exactly one result.
import { afterEach, expect, test } from 'vitest';
import { addItems } from '../../src/engine/items/add-items.ts';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import { FAULT_POINTS, type FaultPoint } from '../../src/platform/fault-point.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { type Child, killAll } from '../support/child-process.ts';
import { isDeep } from '../support/depth.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import {
  CHAOS_SETTINGS,
  chaosPipeline,
  FILE_INGEST_POINTS,
  numberedItems,
  startChaosCommand,
  startChaosIngest,
  startChaosWorker,
  workerIdOf,
} from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob, heldItems } from './check-finished-job.ts';

const database = useTestDatabase();
afterEach(killAll);

const ITEMS = 40;
const SMALL_STEPS = { ...CHAOS_SETTINGS, claimMin: 5, claimMax: 5, flushMaxItems: 5, flushMaxDelayMs: 5 };
/** `holdsItems`: whether the process that dies there still holds items. */
const WORKER_POINTS: Partial<Record<FaultPoint, { passages: number[]; holdsItems: boolean }>> = {
  'claim.after_commit': { passages: [1, 4], holdsItems: true },
  'handler.after_return': { passages: [1, 23], holdsItems: true },
  'flush.before_commit': { passages: [1, 4], holdsItems: true },
  'flush.after_commit': { passages: [1, 4], holdsItems: false },
  'finalize.after_begin': { passages: [1, 2], holdsItems: false },
  'finalize.after_file': { passages: [1, 2], holdsItems: false },
  'finalize.before_commit': { passages: [1, 2], holdsItems: false },
  'finalize.after_commit': { passages: [1, 2], holdsItems: false },
};
const INGEST_POINTS: FaultPoint[] = ['ingest.before_commit', 'ingest.after_commit'];
const RESCUE_POINT: FaultPoint = 'rescue.before_commit';
/** The job's generation when the process that reprocesses it dies there. */
const REPROCESS_POINTS = { 'reprocess.before_commit': 1, 'reprocess.after_commit': 2 } as const;

async function withRowmill(work: (rowmill: Rowmill) => Promise<void>): Promise<void> {
  const rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
  try {
    await work(rowmill);
  } finally {
    await rowmill.close();
  }
}

async function expectKilledAt(child: Child, point: FaultPoint): Promise<void> {
  expect(await child.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(
    child.events.filter(({ event }) => event === 'fault'),
    'void: the fault did not fire',
  ).toMatchObject([{ name: point }]);
}

test('every fault point is exercised here', () => {
  const exercised = [
    ...Object.keys({ ...WORKER_POINTS, ...REPROCESS_POINTS }),
    ...INGEST_POINTS,
    ...FILE_INGEST_POINTS,
    RESCUE_POINT,
  ];
  // Watched sources: kill-source-poller.test.ts; cancellations: kill-in-cancel.test.ts; webhooks:
  // webhook-delivery.test.ts.
  const points = FAULT_POINTS.filter((point) => !/^(source|cancel|webhook|callback)\./.test(point));
  expect([...new Set(exercised)].sort()).toEqual([...points].sort());
});

const cases = Object.entries(WORKER_POINTS).flatMap(([point, { passages, holdsItems }]) =>
  (isDeep ? passages : passages.slice(-1)).map((passage) => ({
    point: point as FaultPoint,
    passage,
    holdsItems,
  })),
);

test.each(cases)(
  'every item gets one result after a kill at $point, passage $passage',
  async ({ point, passage, holdsItems }) => {
    database.keepIfFailed();
    await withRowmill(async (rowmill) => {
      const pipeline = chaosPipeline(`${point}-${passage}`);
      const jobIds = [
        await rowmill.submit(pipeline, numberedItems(ITEMS)),
        await rowmill.submit(pipeline, numberedItems(ITEMS)),
      ];
      const shared = { databaseUrl: database.url, pipeline: pipeline.name, settings: SMALL_STEPS };
      const victim = startChaosWorker({ ...shared, faultPoints: `${point}=kill@${passage}` });
      const workerId = await workerIdOf(victim);
      await expectKilledAt(victim, point);
      const held = await Promise.all(jobIds.map((jobId) => heldItems(database, jobId, workerId)));
      if (holdsItems) expect(Math.max(...held), 'void: nothing was in flight').toBeGreaterThan(0);

      const second = startChaosWorker(shared);
      for (const jobId of jobIds) {
        await whenFinished(rowmill, jobId);
        await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
        expect(await attemptsOf(database, jobId), 'a crash charges no attempt').toEqual([1]);
      }
      await second.waitFor('ready');
      second.kill('SIGTERM');
      expect(await second.exited).toEqual({ code: 0, signal: null });
    });
  },
);

test.each(['flush.before_commit', 'flush.after_commit'] as const)(
  'every result has the trace of its call, once, after a kill at %s',
  async (point) => {
    database.keepIfFailed();
    await withRowmill(async (rowmill) => {
      const pipeline = chaosPipeline(`logged-${point}`);
      const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
      const handler = { kind: 'log' } as const;
      const shared = { databaseUrl: database.url, pipeline: pipeline.name, settings: SMALL_STEPS, handler };
      const victim = startChaosWorker({ ...shared, faultPoints: `${point}=kill@4` });
      const victimId = await workerIdOf(victim);
      await expectKilledAt(victim, point);
      const second = startChaosWorker(shared);
      await whenFinished(rowmill, jobId);
      await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
      const stored = await database.query<{ seq: number; workerId: string; lines: unknown }>(
        `select (l.line::json ->> 'seq')::int as seq, b.worker_id as "workerId", l.line::json -> 'log' as lines
         from trace_blocks b cross join lateral unnest(string_to_array(b.traces, E'\\n')) as l(line)
         where b.job_id = $1 order by 1`,
        [jobId],
      );
      expect(stored.map(({ seq }) => seq)).toEqual(Array.from({ length: ITEMS }, (_, seq) => seq));
      for (const { seq, lines } of stored)
        expect(lines).toMatchObject([{ message: 'began', fields: { n: seq } }, { message: 'ends' }]);
      expect(new Set(stored.map(({ workerId }) => workerId)).size, 'void: one worker did all').toBe(2);
      expect(stored.some(({ workerId }) => workerId === victimId)).toBe(true);
      second.kill('SIGTERM');
      await second.exited;
    });
  },
);

test.each(isDeep ? [1, 2] : [2])(
  'every item gets one result after a kill at rescue.before_commit, passage %i',
  async (passage) => {
    database.keepIfFailed();
    await withRowmill(async (rowmill) => {
      const pipeline = chaosPipeline(`rescue-${passage}`);
      const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
      // Two workers that are gone. The second lease expires only after the first was rescued, so there are two rescues.
      for (const leaseMs of [1, 3_600_000]) {
        const context = contextOf(rowmill);
        const claim = await claimItems(context.db, {
          jobId,
          phase: 0,
          maxItems: 8,
          maxBytes: 1e6,
          workerId: crypto.randomUUID(),
          token: crypto.randomUUID(),
          leaseMs,
          suspects: false,
        });
        expect(claim?.itemCount).toBe(8);
      }
      const shared = { databaseUrl: database.url, pipeline: pipeline.name, settings: SMALL_STEPS };
      const victim = startChaosWorker({ ...shared, faultPoints: `${RESCUE_POINT}=kill@${passage}` });
      if (passage === 2) {
        await victim.waitFor('lease.rescued');
        await database.query(
          `update spans set expires_at = now() where job_id = $1 and expires_at > now() + interval '1 minute'`,
          [jobId],
        );
      }
      await expectKilledAt(victim, RESCUE_POINT);
      await database.query(
        'update spans set expires_at = now() where job_id = $1 and worker_id is not null',
        [jobId],
      );
      expect(await heldItems(database, jobId), 'void: nothing was being rescued').toBeGreaterThan(0);

      startChaosWorker(shared);
      await whenFinished(rowmill, jobId);
      await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
      expect(await attemptsOf(database, jobId)).toEqual([1]);
    });
  },
);

test.each(Object.entries(REPROCESS_POINTS))(
  'a reprocess killed at %s takes effect completely or not at all',
  async (point, generation) => {
    database.keepIfFailed();
    await withRowmill(async (rowmill) => {
      const pipeline = chaosPipeline(point);
      const jobId = await rowmill.submit(pipeline, numberedItems(ITEMS));
      startChaosWorker({ databaseUrl: database.url, pipeline: pipeline.name, settings: SMALL_STEPS });
      await whenFinished(rowmill, jobId);
      const shared = { task: 'reprocess', databaseUrl: database.url, jobId } as const;
      const victim = startChaosCommand({ ...shared, faultPoints: `${point}=kill` });
      await expectKilledAt(victim, point as FaultPoint);
      expect(await whenFinished(rowmill, jobId)).toMatchObject({
        generation,
        counts: { DONE: ITEMS },
      });
      const results = await database.query('select 1 from results where job_id = $1', [jobId]);
      expect(results).toHaveLength(generation * ITEMS);
    });
  },
);

const ingestCases = INGEST_POINTS.flatMap((point) =>
  (isDeep ? [1, 4] : [4]).map((passage) => ({ point, passage })),
);

test.each(ingestCases)(
  'an ingest killed at $point, passage $passage, resumes where it stopped',
  async (fault) => {
    database.keepIfFailed();
    await withRowmill(async (rowmill) => {
      const { point, passage } = fault;
      const pipeline = chaosPipeline(`${point}-${passage}`);
      const { jobId } = await rowmill.createJob(pipeline);
      const batch = 10;
      const shared = { databaseUrl: database.url, jobId, to: 60, settings: { ingestMaxRows: batch } };
      const victim = startChaosIngest({
        ...shared,
        from: 0,
        seal: true,
        faultPoints: `${point}=kill@${passage}`,
      });
      await expectKilledAt(victim, point);

      const committed = point === 'ingest.after_commit' ? passage : passage - 1;
      const stored = await database.query(
        `select j.item_count::int as known, j.state::text, (select count(*)::int from items where job_id = $1) as items,
              (select coalesce(sum(item_count), 0)::int from spans where job_id = $1) as queued
       from jobs j where job_id = $1`,
        [jobId],
      );
      const whole = committed * batch;
      expect(stored).toEqual([{ known: whole, items: whole, queued: whole, state: 'INGESTING' }]);

      const second = startChaosIngest({ ...shared, from: whole, seal: true });
      expect(await second.exited, second.stderrTail).toEqual({ code: 0, signal: null });
      const inputs = await database.query<{ n: number }>(
        `select (input ->> 'n')::int as n from items where job_id = $1 order by seq`,
        [jobId],
      );
      expect(inputs).toEqual(numberedItems(60));
      await expect(addItems(contextOf(rowmill), jobId, [{ n: 60 }])).rejects.toThrow(/open for items/);

      startChaosWorker({ databaseUrl: database.url, pipeline: pipeline.name });
      await whenFinished(rowmill, jobId);
      await checkFinishedJob(database, jobId, { counts: { DONE: 60 } });
    });
  },
);

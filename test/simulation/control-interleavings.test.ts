// Every interleaving of a control action with a claim, a flush, a seal, a finalization, an ingest batch or another
// control action, on real connections. The sessions run the engine's own functions, statement by statement.
import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { RowmillError } from '../../src/core/errors/rowmill-error.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { flushOutcomes } from '../../src/engine/flush/flush-outcomes.ts';
import { addItems } from '../../src/engine/items/add-items.ts';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { finalizeIfComplete } from '../../src/engine/jobs/finalize-if-complete.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { sweep } from '../../src/engine/services/sweeper.ts';
import { newId } from '../../src/platform/random.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { releaseUnstarted } from '../../src/store/commands/spans/release-unstarted.ts';
import { isDeep } from '../support/depth.ts';
import { expectSeen } from '../support/expect-seen.ts';
import { forEveryInterleaving, type InterleavingRun, type Session } from '../support/interleave.ts';
import { checkInvariants } from '../support/invariants.ts';
import { createMemoryBlobStore } from '../support/memory-blob-store.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { drainJob } from './drain-job.ts';
import { doneOutcome, doneOutcomes, type SeededJob, seedJob } from './seed-job.ts';
import { steppedSession, takeDeadlocks } from './stepped-session.ts';

const database = useTestDatabase();
const databaseUrl = database.url;
let engine: EngineContext;

beforeAll(() => {
  engine = { ...database.context(), blobs: createMemoryBlobStore() };
});

interface Meeting extends SeededJob {
  claimed: number;
  recorded: number;
  fenced: number;
  /** Sessions that were refused because of the job's state. */
  refused: string[];
}

async function seedMeeting(admin: pg.Client, job: Parameters<typeof seedJob>[1]): Promise<Meeting> {
  takeDeadlocks();
  return { ...(await seedJob(admin, job)), claimed: 0, recorded: 0, fenced: 0, refused: [] };
}

type Work = (context: EngineContext, meeting: Meeting) => Promise<unknown>;

/** A session that is refused if it comes too late. */
function session(name: string, stops: string[], work: Work): Session<Meeting> {
  return steppedSession<Meeting>({
    name,
    stops,
    async work(context, meeting) {
      try {
        await work(context, meeting);
      } catch (error) {
        if (!(error instanceof RowmillError)) throw error;
        meeting.refused.push(name);
      }
    },
  });
}

const pausing = (): Session<Meeting> =>
  session('pause', ['pause-job'], (context, { jobId }) => pauseJob(context, jobId));
const resuming = (stops = ['resume-job']): Session<Meeting> =>
  session('resume', stops, (context, { jobId }) => resumeJob(context, jobId));
const cancelling = (stops = ['begin-cancelling', 'cancel-items']): Session<Meeting> =>
  session('cancel', stops, (context, { jobId }) => cancelJob(context, jobId));
const sealing = (): Session<Meeting> =>
  session('seal', ['seal-job'], (context, { jobId }) => sealJob(context, jobId));

/** A claim that commits in a later step. */
const claiming = (maxItems = 2): Session<Meeting> =>
  session('claim', ['claim-first-phase'], ({ db }, meeting) =>
    db.transaction(async (tx) => {
      const bounds = { phase: 0, maxItems, maxBytes: 1_000_000, leaseMs: 60_000 };
      const request = { ...bounds, jobId: meeting.jobId, workerId: newId(), token: newId() };
      meeting.claimed = (await claimItems(tx, request))?.itemCount ?? 0;
    }),
  );

/**
 * A worker that flushes and then finalizes the job if it is complete. `retried`: seqs that are recorded for a retry.
 */
const flushing = (
  seqs: number[],
  { retried = [] as number[], stops = ['fence-leases', 'commit'] } = {},
): Session<Meeting> =>
  session('flush', stops, async (context, meeting) => {
    const { jobId, leases } = meeting;
    const lease = doneOutcomes(leases[0]!, seqs);
    const failure = { class: 'overloaded' as const, message: 'later', retryAfterMs: null };
    for (const seq of retried)
      lease.outcomes.push({ ...doneOutcome(seq), kind: 'retry', json: null, failure });
    const batch = {
      jobId,
      generation: 1,
      phase: leases[0]!.phase,
      workerId: newId(),
      flushId: newId(),
      leases: [lease],
    };
    const report = await flushOutcomes(context, batch, false);
    meeting.recorded = report.recorded;
    meeting.fenced = report.fenced;
    if (report.mayFinish) await finalizeIfComplete(context, jobId);
  });

async function expectSound({ jobId }: Meeting, admin: pg.Client): Promise<void> {
  expect(takeDeadlocks(), 'deadlocks').toEqual([]);
  expect(await checkInvariants(admin, jobId), 'invariants').toEqual([]);
}

async function stateOf({ jobId }: Meeting, admin: pg.Client): Promise<string> {
  return (await admin.query('select state from jobs where job_id = $1', [jobId])).rows[0].state;
}

async function expectEnd(
  meeting: Meeting,
  admin: pg.Client,
  outcome: string,
  counts?: { done: number; cancelled: number },
): Promise<void> {
  expect(takeDeadlocks(), 'deadlocks').toEqual([]);
  expect(await checkInvariants(admin, meeting.jobId, { afterSweep: true }), 'invariants').toEqual([]);
  const { rows } = await admin.query(
    `select j.state, s.outcome, (s.counts->>'DONE')::int as done, (s.counts->>'CANCELLED')::int as cancelled, s.total::int
     from jobs j left join summaries s using (job_id) where job_id = $1`,
    [meeting.jobId],
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]).toMatchObject({ state: outcome, outcome, ...counts });
  expect(rows[0].done + rows[0].cancelled).toBe(rows[0].total);
}

/** Finishes all open items, once the job may run and lost leases are free again. */
async function drain({ jobId }: Meeting, admin: pg.Client): Promise<void> {
  await admin.query(
    'update spans set worker_id = null, token = null, expires_at = null, ready_at = now() where job_id = $1',
    [jobId],
  );
  await drainJob(engine, jobId);
}

const startedBefore = (run: InterleavingRun, first: string, second: string): boolean => {
  const order = run.started.split(' ');
  return order.indexOf(first) < order.indexOf(second);
};

const half = [
  { items: [[0, 2]] as [number, number][], phase: 1, lease: {} },
  { items: [[2, 6]] as [number, number][] },
];
const halfLeased = (admin: pg.Client) => seedMeeting(admin, { items: 6, sealed: true, spans: half });
const lastLease = (admin: pg.Client) =>
  seedMeeting(admin, { items: 4, sealed: true, spans: [{ items: [[0, 4]], phase: 1, lease: {} }] });

describe('a pause', () => {
  test('concurrent with a claim and a flush lets no later claim succeed, and loses nothing', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [pausing(), claiming(), flushing([0, 1], { stops: ['fence-leases'] })],
      setup: halfLeased,
      async check(run, meeting, admin) {
        await expectSound(meeting, admin);
        expect(await stateOf(meeting, admin)).toBe('PAUSED');
        expect(meeting.recorded, 'results of running items are kept').toBe(2);
        if (startedBefore(run, 'pause.end', 'claim.claim-first-phase')) expect(meeting.claimed).toBe(0);
        seen.add(`claimed ${meeting.claimed}`);
        await resumeJob(engine, meeting.jobId);
        await drain(meeting, admin);
        await expectEnd(meeting, admin, 'DONE', { done: 6, cancelled: 0 });
      },
    });
    expectSeen(seen, ['claimed 0', 'claimed 2']);
  });

  test('concurrent with the last flush and a resume never leaves the job unfinished', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [pausing(), resuming(), flushing([0, 1, 2, 3], { stops: ['commit', 'begin-finalizing'] })],
      setup: lastLease,
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        // A resume that ran before the pause had nothing to resume.
        if ((await stateOf(meeting, admin)) === 'PAUSED') await resumeJob(engine, meeting.jobId);
        await expectEnd(meeting, admin, 'DONE', { done: 4, cancelled: 0 });
      },
    });
  });

  test('concurrent with a seal and an ingest batch keeps both, and the job paused', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        pausing(),
        sealing(),
        session('add', ['reserve-seqs'], (context, { jobId }) => addItems(context, jobId, [{ n: 4 }])),
      ],
      setup: (admin) => seedMeeting(admin, { items: 4, sealed: false, spans: [{ items: [[0, 4]] }] }),
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        expect(await stateOf(meeting, admin)).toBe('PAUSED');
        await resumeJob(engine, meeting.jobId);
        await drain(meeting, admin);
        await expectEnd(meeting, admin, 'DONE', {
          done: meeting.refused.includes('add') ? 4 : 5,
          cancelled: 0,
        });
      },
    });
  });

  test('keeps every item if its worker returns queued items, flushes, and another worker claims', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        session('back', ['release-unstarted'], ({ db }, { jobId, leases }) =>
          db.transaction((tx) => releaseUnstarted(tx, { jobId, ...leases[0]! }, [[2, 4]])),
        ),
        flushing([0, 1], { stops: ['fence-leases'] }),
        claiming(),
      ],
      setup: (admin) =>
        seedMeeting(admin, { items: 4, sealed: true, spans: [{ items: [[0, 4]], lease: {} }] }),
      async check(_run, meeting, admin) {
        expect(meeting.recorded).toBe(2);
        await expectSound(meeting, admin);
        const { rows } = await admin.query('select sum(item_count)::int as n from spans where job_id = $1', [
          meeting.jobId,
        ]);
        expect(rows[0].n).toBe(2);
      },
    });
  });
});

describe('a cancellation', () => {
  test('concurrent with a claim and a flush gives every item one result', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        cancelling(['commit', 'cancel-items']),
        claiming(),
        flushing([0, 1], { stops: ['fence-leases'] }),
      ],
      setup: halfLeased,
      async check(run, meeting, admin) {
        expect(meeting.recorded + meeting.fenced).toBe(2);
        if (startedBefore(run, 'cancel.commit', 'claim.claim-first-phase')) expect(meeting.claimed).toBe(0);
        await expectEnd(meeting, admin, 'CANCELLED', {
          done: meeting.recorded,
          cancelled: 6 - meeting.recorded,
        });
        seen.add(`claimed ${meeting.claimed}, recorded ${meeting.recorded}`);
      },
    });
    if (isDeep) expect(seen.size).toBe(4);
  });

  test('that waits for a flush finds the retry and the next phase that the flush stored', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        cancelling(),
        flushing([0], { retried: [1, 2], stops: ['fence-leases', 'insert-spans', 'commit'] }),
      ],
      setup: (admin) =>
        seedMeeting(admin, { items: 3, sealed: true, spans: [{ items: [[0, 3]], phase: 1, lease: {} }] }),
      async check(_run, meeting, admin) {
        const done = meeting.recorded === 3 ? 1 : 0;
        await expectEnd(meeting, admin, 'CANCELLED', { done, cancelled: 3 - done });
      },
    });
  });

  test('concurrent with the last flush and the finalization writes one summary', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        cancelling(['begin-cancelling', 'cancel-items', 'begin-finalizing']),
        flushing([0, 1, 2, 3], {
          stops: ['fence-leases', 'commit', 'begin-finalizing', 'claim-finalize', 'commit'],
        }),
      ],
      setup: lastLease,
      async check(_run, meeting, admin) {
        const state = await stateOf(meeting, admin);
        if (state === 'DONE') expect(meeting.refused).toEqual(['cancel']);
        else expect(state).toBe('CANCELLED');
        const done = meeting.recorded;
        await expectEnd(meeting, admin, state, { done, cancelled: 4 - done });
        seen.add(`${state} ${done}`);
      },
    });
    expectSeen(seen, ['DONE 4', 'CANCELLED 4', 'CANCELLED 0']);
  });

  test('concurrent with a seal and an ingest batch finishes with the stored items', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        cancelling(),
        sealing(),
        session('add', ['reserve-seqs'], (context, { jobId }) => addItems(context, jobId, [{ n: 4 }])),
      ],
      setup: (admin) => seedMeeting(admin, { items: 4, sealed: false, spans: [{ items: [[0, 4]] }] }),
      // The order of seal and batch is not checked: two sessions that wait for the same row may get it in either
      // order.
      async check(_run, meeting, admin) {
        const cancelled = meeting.refused.includes('add') ? 4 : 5;
        await expectEnd(meeting, admin, 'CANCELLED', { done: 0, cancelled });
      },
    });
  });

  test('concurrent with a sweep that continues it finishes the job once', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        cancelling(['begin-cancelling', 'cancel-items', 'begin-finalizing', 'claim-finalize']),
        session('sweep', ['find-overdue', 'cancel-items', 'begin-finalizing'], (context) => sweep(context)),
      ],
      setup: halfLeased,
      check: (_run, meeting, admin) => expectEnd(meeting, admin, 'CANCELLED', { done: 0, cancelled: 6 }),
    });
  });
});

describe('concurrent control actions', () => {
  test('pause, resume and cancel: the job is cancelled in any order', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [pausing(), resuming(), cancelling()],
      setup: halfLeased,
      async check(_run, meeting, admin) {
        expect(meeting.refused).not.toContain('cancel');
        await expectEnd(meeting, admin, 'CANCELLED', { done: 0, cancelled: 6 });
      },
    });
  });

  test('two cancellations and a claim: one summary', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [cancelling(), { ...cancelling(['begin-cancelling']), name: 'again' }, claiming()],
      setup: halfLeased,
      check: (_run, meeting, admin) => expectEnd(meeting, admin, 'CANCELLED', { done: 0, cancelled: 6 }),
    });
  });

  test('the release of a trial and an ingest batch: no item stays held, and a cancellation includes all', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        resuming(['resume-job', 'end-trial', 'release-held']),
        session('add', ['reserve-seqs', 'insert-spans'], (context, { jobId }) =>
          addItems(context, jobId, [{ n: 4 }]),
        ),
      ],
      async setup(admin) {
        const meeting = await seedMeeting(admin, {
          items: 4,
          sealed: false,
          spans: [{ items: [[0, 2]] }, { items: [[2, 4]] }],
        });
        await admin.query('update jobs set trial_items = 2 where job_id = $1', [meeting.jobId]);
        await admin.query(`update spans set ready_at = 'infinity' where job_id = $1 and 2::bigint <@ items`, [
          meeting.jobId,
        ]);
        return meeting;
      },
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        const { rows } = await admin.query(
          `select sum(item_count)::int as items, sum(item_count) filter (where ready_at = 'infinity')::int as held
           from spans where job_id = $1`,
          [meeting.jobId],
        );
        expect(rows[0]).toEqual({ items: 5, held: null });
        await cancelJob(engine, meeting.jobId);
        await expectEnd(meeting, admin, 'CANCELLED', { done: 0, cancelled: 5 });
      },
    });
  });
});

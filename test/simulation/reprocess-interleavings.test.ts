// Every interleaving of a reprocess with a finalization, another reprocess, a cancellation, a late flush, a sweep, the
// ledger folder and claims, on real connections. In every order each finished generation has one summary, nothing is
// lost, and the counts equal a recount.
import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { RowmillError } from '../../src/core/errors/rowmill-error.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { flushOutcomes, type RecordedOutcome } from '../../src/engine/flush/flush-outcomes.ts';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { finalizeIfComplete } from '../../src/engine/jobs/finalize-if-complete.ts';
import { finalizeJob } from '../../src/engine/jobs/finalize-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { type ReprocessRequest, reprocessJob } from '../../src/engine/reprocess/reprocess-job.ts';
import { sweep } from '../../src/engine/services/sweeper.ts';
import { newId } from '../../src/platform/random.ts';
import { beginFinalizing } from '../../src/store/commands/jobs/begin-finalizing.ts';
import { claimFinalize } from '../../src/store/commands/jobs/finalize-lease.ts';
import { openGeneration } from '../../src/store/commands/jobs/open-generation.ts';
import { foldLedgerOf } from '../../src/store/commands/results/fold-ledger.ts';
import type { ClaimedSpan } from '../../src/store/commands/spans/claim-items.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { emittedChild } from '../../src/worker/run/emitted-child.ts';
import { LONG } from '../support/depth.ts';
import { expectSeen } from '../support/expect-seen.ts';
import { forEveryInterleaving, type Session } from '../support/interleave.ts';
import { checkInvariants } from '../support/invariants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { drainJob } from './drain-job.ts';
import { prepareForMany } from './prepare-for-many.ts';
import { doneOutcome, doneOutcomes, type SeededJob, type SeededLease, seedJob } from './seed-job.ts';
import { steppedSession, takeDeadlocks } from './stepped-session.ts';

const database = useTestDatabase();
const databaseUrl = database.url;
let engine: EngineContext;

beforeAll(async () => {
  await prepareForMany(database);
  engine = database.context();
});

const ITEMS = 5;
/** Results of the first generation: three done, one failed, one not found. */
const FIRST_COUNTS = { DONE: 3, ERROR: 1, NOT_FOUND: 1, SKIPPED: 0, CANCELLED: 0 };

interface Meeting extends SeededJob {
  claims: Map<string, ClaimedSpan | null>;
  recorded: number;
  fenced: number;
  opened: boolean;
  /** Sessions that were refused because of the job's state. */
  refused: string[];
}

type Stage = 'leased' | 'ended' | 'finalizing' | 'finished';

/** Creates a job whose first generation is at this stage. Its lease was lost once: `leases` has the outdated token. */
async function seedMeeting(admin: pg.Client, stage: Stage): Promise<Meeting> {
  takeDeadlocks();
  const spans = [{ items: [[0, ITEMS]] as [number, number][], phase: 1, lease: {} }];
  const { jobId, leases } = await seedJob(admin, { items: ITEMS, sealed: true, spans });
  await admin.query(`update jobs set outputs = '{}' where job_id = $1`, [jobId]);
  const token = newId();
  await admin.query('update spans set token = $2 where job_id = $1', [jobId, token]);
  const meeting = { jobId, leases, claims: new Map(), recorded: 0, fenced: 0, opened: false, refused: [] };
  if (stage === 'leased') return meeting;
  await flushMixed(engine, meeting, { ...leases[0]!, token });
  if (stage === 'finalizing') await beginFinalizing(engine.db, jobId);
  if (stage === 'finished') await finalizeIfComplete(engine, jobId);
  return meeting;
}

async function flushMixed(context: EngineContext, meeting: Meeting, lease: SeededLease): Promise<void> {
  const failure = { class: 'overloaded' as const, message: 'busy', retryAfterMs: null };
  const outcomes = [0, 1, 2, 3, 4].map(doneOutcome);
  outcomes[3] = { ...outcomes[3]!, status: 'ERROR', json: null, failure };
  outcomes[4] = {
    ...outcomes[4]!,
    status: 'NOT_FOUND',
    json: null,
    failure: { ...failure, class: 'not_found' },
  };
  await flushAs(context, meeting, 1, lease, outcomes);
}

async function flushAs(
  context: EngineContext,
  meeting: Meeting,
  generation: number,
  lease: SeededLease,
  outcomes: RecordedOutcome[],
): Promise<boolean> {
  const leases = [{ ...doneOutcomes(lease, []), outcomes }];
  const ids = { jobId: meeting.jobId, workerId: newId(), flushId: newId() };
  const report = await flushOutcomes(context, { ...ids, generation, phase: lease.phase, leases }, false);
  meeting.recorded += report.recorded;
  meeting.fenced += report.fenced;
  return report.mayFinish;
}

// The sessions. Each runs the engine's own functions.

/** A session that is refused if it comes too late. */
function session(
  name: string,
  stops: string[],
  work: (context: EngineContext, meeting: Meeting) => Promise<unknown>,
): Session<Meeting> {
  return steppedSession<Meeting>({
    name,
    stops,
    async work(context, meeting) {
      try {
        await work(context, meeting);
      } catch (error) {
        if (!(error instanceof RowmillError)) throw error;
        expect(error.code).toBe('JOB_CONFLICT');
        meeting.refused.push(name);
      }
    },
  });
}

/** Does not wait long for a halted finalizer. */
const reprocessing = (
  stops: string[],
  { name = 'reprocess', request = { statuses: 'all' } as ReprocessRequest } = {},
): Session<Meeting> =>
  session(name, stops, (context, { jobId }) =>
    reprocessJob({ ...context, settings: { ...context.settings, reprocessWaitMs: 10 } }, jobId, request),
  );
const finishing = (stops: string[]): Session<Meeting> =>
  session('finish', stops, (context, { jobId }) => finalizeIfComplete(context, jobId));
const finalizing = (stops: string[]): Session<Meeting> =>
  session('finalize', stops, (context, { jobId }) => finalizeJob(context, jobId));
const cancelling = (stops: string[]): Session<Meeting> =>
  session('cancel', stops, (context, { jobId }) => cancelJob(context, jobId));
const sweeping = (stops: string[]): Session<Meeting> => session('sweep', stops, (context) => sweep(context));
const folding = (name: string): Session<Meeting> =>
  session(name, ['fold-ledger'], ({ db }, { jobId }) => db.transaction((tx) => foldLedgerOf(tx, jobId, 0)));

/** Expires the finalize lease. */
const expiring: Session<Meeting> = {
  name: 'clock',
  steps: [
    {
      name: 'expire',
      run: (client, { jobId }) =>
        client.query(
          `update jobs set finalize_expires_at = now() - interval '1 second' where job_id = $1 and finalize_token is not null`,
          [jobId],
        ),
    },
  ],
};

/** A claim that commits in a later step. */
const claiming = (name: string, { hasEdits = false } = {}): Session<Meeting> =>
  session(name, [hasEdits ? 'claim-first-edited' : 'claim-first-phase'], ({ db }, meeting) =>
    db.transaction(async (tx) => meeting.claims.set(name, await claimItems(tx, claimOf(meeting, hasEdits)))),
  );

function claimOf({ jobId }: Meeting, hasEdits: boolean): Parameters<typeof claimItems>[1] {
  const bounds = { phase: 0, maxItems: 2, maxBytes: 1_000_000, leaseMs: 60_000 };
  return { ...bounds, jobId, workerId: newId(), token: newId(), hasEdits };
}

/** A worker that lost its lease in the first generation, and emits an item in its late flush. */
const flushingLate = (stops: string[]): Session<Meeting> =>
  session('late', stops, async (context, meeting) => {
    const outcome = { ...doneOutcome(0), children: [emittedChild('late', {}, 0)] };
    if (await flushAs(context, meeting, 1, meeting.leases[0]!, [outcome, doneOutcome(1)]))
      await finalizeIfComplete(context, meeting.jobId);
  });

/** A worker of the second generation: two items, from the claim to the end of their first phase. */
const working = (stops: string[]): Session<Meeting> =>
  session('work', stops, async (context, meeting) => {
    const claim = await claimItems(context.db, claimOf(meeting, false));
    meeting.claims.set('work', claim);
    if (!claim) return;
    const lease = { ...claim, workerId: '', items: claim.ranges };
    const outcomes = claim.items.map(({ seq }) => doneOutcome(seq));
    if (await flushAs(context, meeting, claim.generation, lease, outcomes))
      await finalizeIfComplete(context, meeting.jobId);
  });

// Checks.

interface FoundJob {
  state: string;
  generation: number;
  outcomes: string[];
  counts: Record<string, number>[];
}

async function look({ jobId }: Meeting, admin: pg.Client): Promise<FoundJob> {
  const { rows } = await admin.query<FoundJob>(
    `select state, generation,
       array(select outcome::text from summaries s where s.job_id = j.job_id order by generation) as outcomes,
       array(select counts from summaries s where s.job_id = j.job_id order by generation) as counts
     from jobs j where job_id = $1`,
    [jobId],
  );
  return rows[0]!;
}

async function expectSound({ jobId }: Meeting, admin: pg.Client): Promise<void> {
  expect(takeDeadlocks(), 'deadlocks').toEqual([]);
  expect(await checkInvariants(admin, jobId), 'invariants').toEqual([]);
}

/** The job is sound; after the rest is completed, every generation has its summary and no item is lost. */
async function expectEnds(meeting: Meeting, admin: pg.Client, { hasEdits = false } = {}): Promise<FoundJob> {
  const { jobId } = meeting;
  await expectSound(meeting, admin);
  await admin.query('update spans set worker_id = null, token = null, expires_at = null where job_id = $1', [
    jobId,
  ]);
  await drainJob(engine, jobId, { hasEdits });
  await sweep(engine);
  expect(await checkInvariants(admin, jobId, { afterSweep: true }), 'invariants at the end').toEqual([]);
  const found = await look(meeting, admin);
  expect(found.outcomes, 'one summary per generation').toHaveLength(found.generation);
  expect(found.outcomes.at(-1)).toBe(found.state);
  for (const counts of found.counts)
    expect(
      Object.values(counts).reduce((sum, n) => sum + n, 0),
      'items of a summary',
    ).toBe(ITEMS);
  return found;
}

/** A refused session asks once more when the job is finished. */
async function askAgain(meeting: Meeting): Promise<void> {
  if (meeting.refused.includes('reprocess')) await reprocessJob(engine, meeting.jobId, { statuses: 'all' });
}

const ALL_DONE = { ...FIRST_COUNTS, DONE: ITEMS, ERROR: 0, NOT_FOUND: 0 };

async function expectTwoGenerations(meeting: Meeting, admin: pg.Client): Promise<void> {
  await expectSound(meeting, admin);
  await askAgain(meeting);
  const found = await expectEnds(meeting, admin);
  expect(found).toEqual({
    state: 'DONE',
    generation: 2,
    outcomes: ['DONE', 'DONE'],
    counts: [FIRST_COUNTS, ALL_DONE],
  });
}

describe('a reprocess and the end of the previous generation', () => {
  test('from the last flush on: it is refused, or comes after the summary', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        finishing(['begin-finalizing', 'claim-finalize', 'finish-job', 'commit']),
        reprocessing(['read-job', 'open-generation', 'reopen-any']),
      ],
      setup: (admin) => seedMeeting(admin, 'ended'),
      async check(_run, meeting, admin) {
        seen.add(`refused ${meeting.refused.length}`);
        await expectTwoGenerations(meeting, admin);
      },
    });
    expectSeen(seen, ['refused 0', 'refused 1']);
  });

  test('it finalizes a job without a finalizer, and one summary is written', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        finalizing(['claim-finalize', 'finish-job']),
        reprocessing(['claim-finalize', 'finish-job', 'commit', 'open-generation']),
      ],
      setup: (admin) => seedMeeting(admin, 'finalizing'),
      check: (_run, meeting, admin) => expectTwoGenerations(meeting, admin),
    });
  });

  test('a client that assumes the job is finished opens nothing before the summary exists', async () => {
    const seen = new Set<boolean>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        finishing(['begin-finalizing', 'claim-finalize', 'finish-job', 'commit']),
        session('open', ['open-generation'], ({ db }, meeting) =>
          db.transaction(async (tx) => {
            meeting.opened = await openGeneration(
              tx,
              { jobId: meeting.jobId, generation: 1, state: 'DONE' },
              null,
            );
          }),
        ),
      ],
      setup: (admin) => seedMeeting(admin, 'ended'),
      async check(_run, meeting, admin) {
        seen.add(meeting.opened);
        await expectSound(meeting, admin);
        expect((await look(meeting, admin)).outcomes).toEqual(['DONE']);
      },
    });
    expectSeen(seen, [true, false]);
  });

  test('it takes over from a halted finalizer, which then changes nothing', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        finalizing(['claim-finalize', 'finish-job']),
        expiring,
        reprocessing(['claim-finalize', 'open-generation']),
      ],
      setup: (admin) => seedMeeting(admin, 'finalizing'),
      async check(_run, meeting, admin) {
        const { rows } = await admin.query('select finalize_attempts as n from jobs where job_id = $1', [
          meeting.jobId,
        ]);
        seen.add(`attempts ${rows[0].n}`);
        await expectTwoGenerations(meeting, admin);
      },
    });
    expectSeen(seen, ['attempts 1', 'attempts 2']);
  });
});

describe('two concurrent reprocess requests', () => {
  test('one of them opens the generation', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        reprocessing(['read-job', 'open-generation', 'reopen-any']),
        reprocessing(['read-job', 'open-generation', 'reopen-not-done'], { name: 'other', request: {} }),
      ],
      setup: (admin) => seedMeeting(admin, 'finished'),
      async check(_run, meeting, admin) {
        expect(meeting.refused).toHaveLength(1);
        const { rows } = await admin.query('select selected::int as n from generations where job_id = $1', [
          meeting.jobId,
        ]);
        expect(rows).toEqual([{ n: meeting.refused.includes('reprocess') ? 2 : ITEMS }]);
        const found = await expectEnds(meeting, admin);
        expect(found).toMatchObject({ generation: 2, counts: [FIRST_COUNTS, ALL_DONE] });
      },
    });
  });

  test('both try to finalize the job first', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        reprocessing(['claim-finalize', 'finish-job', 'open-generation']),
        reprocessing(['claim-finalize', 'finish-job', 'open-generation'], { name: 'other' }),
      ],
      setup: (admin) => seedMeeting(admin, 'finalizing'),
      async check(_run, meeting, admin) {
        expect(meeting.refused, 'one of them opens it').not.toHaveLength(2);
        const found = await expectEnds(meeting, admin);
        expect(found).toMatchObject({ generation: 2, counts: [FIRST_COUNTS, ALL_DONE] });
      },
    });
  });
});

describe('a reprocess and a cancellation', () => {
  test('of a finished job: refused, or it cancels the new generation and the results are restored', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        cancelling(['begin-cancelling', 'cancel-items', 'begin-finalizing']),
        reprocessing(['read-job', 'open-generation', 'reopen-any']),
      ],
      setup: (admin) => seedMeeting(admin, 'finished'),
      async check(_run, meeting, admin) {
        expect(meeting.refused).not.toContain('reprocess');
        const isRefused = meeting.refused.includes('cancel');
        const found = await expectEnds(meeting, admin);
        seen.add(found.state);
        expect(found).toEqual({
          state: isRefused ? 'DONE' : 'CANCELLED',
          generation: 2,
          outcomes: ['DONE', isRefused ? 'DONE' : 'CANCELLED'],
          counts: [FIRST_COUNTS, isRefused ? ALL_DONE : FIRST_COUNTS],
        });
      },
    });
    expectSeen(seen, ['DONE', 'CANCELLED']);
  });

  test('of a job that is being finalized: each generation is finished once, cancelled or not', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        cancelling(['begin-cancelling', 'begin-finalizing', 'claim-finalize']),
        reprocessing(['read-job', 'claim-finalize', 'finish-job', 'open-generation']),
      ],
      setup: (admin) => seedMeeting(admin, 'finalizing'),
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        await sweep(engine);
        await askAgain(meeting);
        const { generation, outcomes, counts } = await expectEnds(meeting, admin);
        expect(generation).toBe(2);
        expect(counts).toEqual([FIRST_COUNTS, outcomes[1] === 'DONE' ? ALL_DONE : FIRST_COUNTS]);
        seen.add(outcomes.join(' '));
      },
    });
    expectSeen(seen, ['DONE DONE', 'DONE CANCELLED', 'CANCELLED DONE']);
  });
});

describe('a reprocess of a paused job', () => {
  /** Three rows are done, two are leased by a worker that completes them. */
  async function seedPaused(admin: pg.Client): Promise<Meeting> {
    takeDeadlocks();
    const spans = [{ items: [[3, ITEMS]] as [number, number][], phase: 1, lease: {} }];
    const { jobId, leases } = await seedJob(admin, { items: ITEMS, sealed: true, spans, state: 'PAUSED' });
    await admin.query(`update jobs set outputs = '{}' where job_id = $1`, [jobId]);
    return { jobId, leases, claims: new Map(), recorded: 0, fenced: 0, opened: false, refused: [] };
  }
  const flushingRest = (stops: string[]): Session<Meeting> =>
    session('flush', stops, async (context, meeting) => {
      if (await flushAs(context, meeting, 1, meeting.leases[0]!, [doneOutcome(3), doneOutcome(4)]))
        await finalizeIfComplete(context, meeting.jobId);
    });
  const resuming = (stops: string[]): Session<Meeting> =>
    session('resume', stops, (context, { jobId }) => resumeJob(context, jobId));

  test(
    'takes the finished rows, whatever is flushed and resumed meanwhile, and no row is lost or runs twice',
    LONG,
    async () => {
      const seen = new Set<string>();
      await forEveryInterleaving({
        databaseUrl,
        sessions: [
          reprocessing(['open-generation', 'reopen-any']),
          flushingRest(['fence-leases', 'begin-finalizing']),
          resuming(['resume-job', 'begin-finalizing']),
        ],
        setup: seedPaused,
        async check(_run, meeting, admin) {
          expect(meeting).toMatchObject({ recorded: 2, fenced: 0 });
          await expectSound(meeting, admin);
          const wasRefused = meeting.refused.includes('reprocess');
          const { rows } = await admin.query<{ selected: number; continues: boolean }>(
            'select selected::int, continues from generations where job_id = $1',
            [meeting.jobId],
          );
          seen.add(wasRefused ? 'refused' : `took ${rows[0]!.selected}`);
          if (!wasRefused && rows[0]!.continues) seen.add('continued');
          await admin.query(
            'update spans set worker_id = null, token = null, expires_at = null where job_id = $1',
            [meeting.jobId],
          );
          await drainJob(engine, meeting.jobId);
          await sweep(engine);
          expect(await checkInvariants(admin, meeting.jobId, { afterSweep: true }), 'at the end').toEqual([]);
          const found = await look(meeting, admin);
          expect(found.state).toBe('DONE');
          expect(found.counts.at(-1)).toEqual(ALL_DONE);
          // A continued generation has no summary.
          const ended = wasRefused || rows[0]!.continues ? 1 : 2;
          expect(found.outcomes).toHaveLength(ended);
        },
      });
      expectSeen(seen, ['refused', 'took 3', 'took 5', 'continued']);
    },
  );

  test(
    'and a cancellation: finished rows get their result back, the others are cancelled',
    LONG,
    async () => {
      const seen = new Set<string>();
      await forEveryInterleaving({
        databaseUrl,
        sessions: [
          reprocessing(['open-generation', 'reopen-any']),
          cancelling(['begin-cancelling', 'cancel-items']),
          flushingRest(['fence-leases']),
        ],
        setup: seedPaused,
        async check(_run, meeting, admin) {
          await expectSound(meeting, admin);
          const found = await expectSettled(meeting, admin);
          const cancelled = { ...ALL_DONE, DONE: 3 + meeting.recorded, CANCELLED: 2 - meeting.recorded };
          expect(found.counts.at(-1)).toEqual(found.state === 'CANCELLED' ? cancelled : ALL_DONE);
          seen.add(`${meeting.refused.includes('reprocess') ? 'refused' : 'opened'} ${meeting.recorded}`);
        },
      });
      expectSeen(seen, ['refused 0', 'refused 2', 'opened 0', 'opened 2']);
    },
  );

  /** The cancellation is complete: nothing is left to run. */
  async function expectSettled(meeting: Meeting, admin: pg.Client): Promise<FoundJob> {
    await sweep(engine);
    const found = await look(meeting, admin);
    if (found.state === 'QUEUED') {
      // It was reopened after the cancellation, so its rows are run.
      await drainJob(engine, meeting.jobId);
      await sweep(engine);
    }
    expect(await checkInvariants(admin, meeting.jobId, { afterSweep: true }), 'at the end').toEqual([]);
    return look(meeting, admin);
  }
});

describe('a reprocess and workers', () => {
  test('a late flush of the first generation is fenced, before and after a new claim', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [reprocessing(['reopen-any']), flushingLate(['fence-leases']), claiming('claim')],
      setup: (admin) => seedMeeting(admin, 'finished'),
      async check(_run, meeting, admin) {
        // Both lock the job's row first, so one waits for the other and neither is refused.
        expect(meeting).toMatchObject({ fenced: 2, refused: [] });
        expect(meeting.recorded, 'the first generation only').toBe(ITEMS);
        const found = await expectEnds(meeting, admin);
        expect(found).toMatchObject({ generation: 2, counts: [FIRST_COUNTS, ALL_DONE] });
      },
    });
  });

  test('a claim that does not know of edits gets nothing; one that does gets the new input', async () => {
    const seen = new Set<string>();
    const edits = [
      { seq: 0, input: { word: 'edited' } },
      { seq: 1, input: { word: 'edited' } },
    ];
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        reprocessing(['insert-item-edits'], { request: { edits } }),
        claiming('unaware'),
        claiming('aware', { hasEdits: true }),
      ],
      setup: (admin) => seedMeeting(admin, 'finished'),
      async check(_run, meeting, admin) {
        expect(meeting.claims.get('unaware')).toBeNull();
        const claimed = meeting.claims.get('aware')?.items ?? [];
        for (const { input } of claimed) expect(JSON.parse(input)).toEqual({ word: 'edited' });
        seen.add(`claimed ${claimed.length}`);
        const found = await expectEnds(meeting, admin, { hasEdits: true });
        expect(found).toMatchObject({ generation: 2, counts: [FIRST_COUNTS, FIRST_COUNTS] });
      },
    });
    expectSeen(seen, ['claimed 0', 'claimed 2']);
  });

  test('claim and flush of a cancelled generation: items without a recorded outcome get their old result back', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        working(['claim-first-phase', 'fence-leases', 'commit']),
        cancelling(['begin-cancelling', 'cancel-items', 'begin-finalizing']),
      ],
      async setup(admin) {
        const meeting = await seedMeeting(admin, 'finished');
        await reprocessJob(engine, meeting.jobId, { statuses: 'all', from: 'first' });
        return Object.assign(meeting, { recorded: 0 });
      },
      async check(_run, meeting, admin) {
        expect(meeting.recorded + meeting.fenced).toBe(meeting.claims.get('work')?.items.length ?? 0);
        const found = await expectEnds(meeting, admin);
        expect(found).toEqual({
          state: 'CANCELLED',
          generation: 2,
          outcomes: ['DONE', 'CANCELLED'],
          counts: [FIRST_COUNTS, FIRST_COUNTS],
        });
        const { rows } = await admin.query(
          'select count(*)::int as n from results where job_id = $1 and generation = 2',
          [meeting.jobId],
        );
        expect(rows[0].n).toBe(meeting.recorded);
        seen.add(`recorded ${meeting.recorded}, fenced ${meeting.fenced}`);
      },
    });
    expectSeen(seen, ['recorded 0, fenced 0', 'recorded 2, fenced 0', 'recorded 0, fenced 2']);
  });
});

describe('a reprocess and the services', () => {
  test('a sweep that finishes a job that no worker finished', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        sweeping(['find-overdue', 'begin-finalizing', 'claim-finalize']),
        reprocessing(['read-job', 'claim-finalize', 'open-generation']),
      ],
      setup: (admin) => seedMeeting(admin, 'ended'),
      check: (_run, meeting, admin) => expectTwoGenerations(meeting, admin),
    });
  });

  test('a sweep that takes over from a dead finalizer', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        sweeping(['find-overdue', 'claim-finalize', 'finish-job']),
        reprocessing(['read-job', 'claim-finalize', 'finish-job', 'open-generation']),
      ],
      async setup(admin) {
        const meeting = await seedMeeting(admin, 'finalizing');
        const { jobId } = meeting;
        await claimFinalize(engine.db, { jobId, workerId: newId(), token: newId(), leaseMs: -1000 });
        return meeting;
      },
      check: (_run, meeting, admin) => expectTwoGenerations(meeting, admin),
    });
  });

  test('a sweep that rescues the last lease and finishes the job with it', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        sweeping(['lock-expired-leases', 'commit', 'begin-finalizing', 'claim-finalize']),
        reprocessing(['read-job', 'open-generation', 'reopen-any']),
      ],
      async setup(admin) {
        const meeting = await seedMeeting(admin, 'leased');
        await admin.query(
          `with cut as (
             update spans set items = '{[4,5)}', item_count = 1, crashes = 2, expires_at = now() - interval '1 second' where job_id = $1
           ), ended as (
             insert into result_rows (job_id, seq, generation, phase, attempt, status)
             select $1, seq, 1, 1, 1, 'DONE' from generate_series(0, 3) seq
           )
           insert into ledger (job_id, entry_id, generation, phase, done) values ($1, gen_random_uuid(), 1, 1, 4)`,
          [meeting.jobId],
        );
        return meeting;
      },
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        await askAgain(meeting);
        const found = await expectEnds(meeting, admin);
        const first = { ...FIRST_COUNTS, DONE: 4, NOT_FOUND: 0 };
        expect(found).toMatchObject({ generation: 2, outcomes: ['DONE', 'DONE'], counts: [first, ALL_DONE] });
      },
    });
  });

  test('a sweep of a second generation whose worker died', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        sweeping(['lock-expired-leases']),
        working(['claim-first-phase']),
        cancelling(['begin-cancelling']),
      ],
      async setup(admin) {
        const meeting = await seedMeeting(admin, 'finished');
        await reprocessJob(engine, meeting.jobId, { statuses: 'all', from: 'first' });
        await claimItems(engine.db, { ...claimOf(meeting, false), leaseMs: -1000 });
        return Object.assign(meeting, { recorded: 0 });
      },
      async check(_run, meeting, admin) {
        const found = await expectEnds(meeting, admin);
        expect(found).toMatchObject({
          outcomes: ['DONE', 'CANCELLED'],
          counts: [FIRST_COUNTS, { CANCELLED: 0 }],
        });
      },
    });
  });

  test('folding the ledger loses no booking in any order with the reprocess', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [reprocessing(['reopen-any']), folding('fold'), folding('again')],
      setup: (admin) => seedMeeting(admin, 'finished'),
      check: (_run, meeting, admin) => expectTwoGenerations(meeting, admin),
    });
  });
});

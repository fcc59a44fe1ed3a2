// Every interleaving of two or three processes in the queue, on real connections. The sessions run the engine's own
// functions; a step ends after the statement it is named after.
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RowmillError } from '../../src/core/errors/rowmill-error.ts';
import { formatRanges, rangesOf, type SeqRanges } from '../../src/core/items/seq-ranges.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { type FlushReport, flushOutcomes } from '../../src/engine/flush/flush-outcomes.ts';
import { type RescueReport, rescueLeases } from '../../src/engine/flush/rescue-leases.ts';
import { addItems } from '../../src/engine/items/add-items.ts';
import { finalizeIfComplete } from '../../src/engine/jobs/finalize-if-complete.ts';
import { finalizeJob } from '../../src/engine/jobs/finalize-job.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { sweep } from '../../src/engine/services/sweeper.ts';
import type { Executor } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import { sealJobRow } from '../../src/store/commands/jobs/seal-job.ts';
import { type ClaimedSpan, claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { releaseAllBut, releaseSpan } from '../../src/store/commands/spans/release-items.ts';
import { RENEW_LEASES } from '../../src/store/commands/spans/renew-leases.ts';
import { isDeep } from '../support/depth.ts';
import { expectSeen } from '../support/expect-seen.ts';
import { forEveryInterleaving, type InterleavingRun, ordersOf, type Session } from '../support/interleave.ts';
import { checkInvariants } from '../support/invariants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { drainJob } from './drain-job.ts';
import {
  doneOutcome,
  doneOutcomes,
  plainOutcome,
  type SeededJob,
  type SeededLease,
  seedJob,
} from './seed-job.ts';
import { steppedSession, takeDeadlocks } from './stepped-session.ts';

const database = useTestDatabase();
const databaseUrl = database.url;
let engine: EngineContext;

beforeAll(() => {
  engine = database.context();
});

/** The results of the sessions of one interleaving, by session. */
interface Meeting extends SeededJob {
  claims: Map<string, ClaimedSpan | null>;
  flushes: Map<string, FlushReport>;
  rescues: Map<string, RescueReport>;
  /** Sessions whose call returned that it finished the job. */
  enders: string[];
  renewed: number;
  released: number;
  stored: number | string;
}

async function seedMeeting(admin: pg.Client, job: Parameters<typeof seedJob>[1]): Promise<Meeting> {
  takeDeadlocks();
  return {
    ...(await seedJob(admin, job)),
    claims: new Map(),
    flushes: new Map(),
    rescues: new Map(),
    enders: [],
    renewed: 0,
    released: 0,
    stored: 0,
  };
}

/** A claim that commits in a later step and holds its locks until then. */
function claimer(name: string, maxItems: number): Session<Meeting> {
  return steppedSession({
    name,
    stops: ['claim-first-phase'],
    work: ({ db }, meeting) => db.transaction((tx) => claim(tx, name, maxItems, meeting)),
  });
}

async function claim(db: Executor, name: string, maxItems: number, meeting: Meeting): Promise<void> {
  const request = { jobId: meeting.jobId, phase: 0, maxItems, maxBytes: 1_000_000, leaseMs: 60_000 };
  meeting.claims.set(name, await claimItems(db, { ...request, workerId: newId(), token: newId() }));
}

/** A worker that flushes its outcomes and then finalizes the job if it is complete, like the flush writer. */
function flusher(
  name: string,
  parts: (meeting: Meeting) => [SeededLease, number[]][],
  { stops = ['fence-leases', 'commit', 'begin-finalizing'], prepare = '', outcome = doneOutcome } = {},
): Session<Meeting> {
  return steppedSession({
    name,
    stops,
    prepare,
    async work(engineContext, meeting) {
      const { jobId } = meeting;
      const leases = parts(meeting);
      const report = await flushOutcomes(
        engineContext,
        {
          jobId,
          generation: 1,
          phase: leases[0]![0].phase,
          workerId: newId(),
          flushId: newId(),
          leases: leases.map(([lease, seqs]) => ({
            ...doneOutcomes(lease, []),
            outcomes: seqs.map(outcome),
          })),
        },
        false,
      );
      meeting.flushes.set(name, report);
      if (report.mayFinish && (await finalizeIfComplete(engineContext, jobId))) meeting.enders.push(name);
    },
  });
}

function rescuer(name: string, stops: string[], deadWorker?: (meeting: Meeting) => string): Session<Meeting> {
  return steppedSession({
    name,
    stops,
    work: async (engineContext, meeting) => {
      const lostBy = deadWorker ? { deadWorkerId: deadWorker(meeting) } : ('expired' as const);
      meeting.rescues.set(name, await rescueLeases(engineContext, lostBy));
    },
  });
}

function renewer(
  name: string,
  leases: (meeting: Meeting) => SeededLease[],
  { stops = ['renew-leases'] } = {},
): Session<Meeting> {
  return steppedSession({
    name,
    stops,
    work: ({ db }, meeting) =>
      db.transaction(async (tx) => {
        const held = leases(meeting);
        const { rowCount } = await tx.run(RENEW_LEASES, [
          meeting.jobId,
          held.map((lease) => lease.spanId),
          held.map((lease) => lease.token),
          60_000,
        ]);
        meeting.renewed = rowCount ?? 0;
      }),
  });
}

function releaser(name: string, kept: number[]): Session<Meeting> {
  return steppedSession({
    name,
    stops: [kept.length === 0 ? 'release-lease' : 'release-all-but'],
    work: ({ db }, meeting) =>
      db.transaction(async (tx) => {
        const { jobId } = meeting;
        const { spanId, token } = meeting.leases[0]!;
        meeting.released =
          kept.length === 0
            ? await releaseSpan(tx, jobId, token)
            : await releaseAllBut(tx, { jobId, spanId, token }, formatRanges(rangesOf(kept)), kept.length);
      }),
  });
}

function sweeping(name: string): Session<Meeting> {
  return steppedSession({
    name,
    stops: ['find-overdue', 'begin-finalizing', 'claim-finalize'],
    work: (engineContext) => sweep(engineContext),
  });
}

/** Holds the row lock of one span, like any statement that came first. */
function holder(name: string, lease: (meeting: Meeting) => SeededLease): Session<Meeting> {
  return {
    name,
    steps: [
      {
        name: 'lock',
        async run(client, meeting) {
          await client.query('begin');
          const values = [meeting.jobId, lease(meeting).spanId];
          await client.query('select 1 from spans where job_id = $1 and span_id = $2 for update', values);
        },
      },
      { name: 'unlock', run: (client) => client.query('rollback') },
    ],
  };
}

async function expectSound({ jobId }: Meeting, admin: pg.Client): Promise<void> {
  expect(takeDeadlocks(), 'deadlocks').toEqual([]);
  expect(await checkInvariants(admin, jobId), 'invariants').toEqual([]);
}

/** Without a sweep: the last session to commit must have finished the job. */
async function expectEnded({ jobId }: Meeting, admin: pg.Client, done: number): Promise<void> {
  expect(takeDeadlocks(), 'deadlocks').toEqual([]);
  expect(await checkInvariants(admin, jobId, { afterSweep: true }), 'invariants').toEqual([]);
  const { rows } = await admin.query(
    `select state, (select count(*)::int from summaries s where s.job_id = j.job_id) as summaries,
       (select sum((s.counts->>'DONE')::int)::int from summaries s where s.job_id = j.job_id) as done
     from jobs j where job_id = $1`,
    [jobId],
  );
  expect(rows[0], 'the end').toEqual({ state: 'DONE', summaries: 1, done });
}

/** Finishes all open items; then there must be one summary. */
async function expectDrains(meeting: Meeting, admin: pg.Client, done: number): Promise<void> {
  await expectSound(meeting, admin);
  await admin.query(
    'update spans set worker_id = null, token = null, expires_at = null, ready_at = now() where job_id = $1',
    [meeting.jobId],
  );
  await drainJob(engine, meeting.jobId);
  await expectEnded(meeting, admin, done);
}

async function countResults(admin: pg.Client, { jobId }: Meeting): Promise<number> {
  const { rows } = await admin.query('select count(*)::int as n from results where job_id = $1', [jobId]);
  return rows[0].n;
}

/** The items of each claim are those of its span, and they add up. */
async function expectLeasedAsClaimed(meeting: Meeting, admin: pg.Client, total: number): Promise<void> {
  await expectSound(meeting, admin);
  const { rows } = await admin.query<{ token: string | null; items: string; n: number }>(
    'select token, items::text, item_count::int as n from spans where job_id = $1',
    [meeting.jobId],
  );
  const leased = new Map(rows.filter((row) => row.token !== null).map((row) => [row.token, row.items]));
  const claims = [...meeting.claims.values()].filter((claim) => claim !== null);
  expect(leased).toEqual(new Map(claims.map((claim) => [claim.token, formatRanges(claim.ranges)])));
  for (const claim of claims) {
    expect(rangesOf(claim.items.map((item) => item.seq))).toEqual(claim.ranges);
  }
  expect(rows.reduce((sum, row) => sum + row.n, 0)).toBe(total);
}

function startedBefore(run: InterleavingRun, first: string, second: string): boolean {
  const order = run.started.split(' ');
  return order.indexOf(first) < order.indexOf(second);
}

describe('concurrent claims', () => {
  test('on one span never take the same item, and never wait for each other', async () => {
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [claimer('A', 3), claimer('B', 10), claimer('C', 4)],
      setup: (admin) => seedMeeting(admin, { items: 10, sealed: true, spans: [{ items: [[0, 10]] }] }),
      async check(run, meeting, admin) {
        await expectLeasedAsClaimed(meeting, admin, 10);
        expect(run.blocked).toEqual([]);
        // A claim that starts after all others have committed gets the rest.
        if (run.order.startsWith('A.claim-first-phase A.end C.claim-first-phase C.end'))
          expect(meeting.claims.get('B')?.ranges).toEqual([[7, 10]]);
      },
    });
    expect(runs).toHaveLength(ordersOf(90));
  });

  test('on several spans take different ones, combine small ones, and never wait', async () => {
    const spans = [
      { items: [[0, 2]] },
      { items: [[2, 3]], attempt: 1 },
      { items: [[3, 5]] },
      { items: [[5, 9]] },
      { items: [[9, 12]], attempt: 1 },
    ] satisfies { items: SeqRanges; attempt?: number }[];
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [claimer('A', 3), claimer('B', 5), claimer('C', 12)],
      setup: (admin) => seedMeeting(admin, { items: 12, sealed: true, spans }),
      async check(run, meeting, admin) {
        await expectLeasedAsClaimed(meeting, admin, 12);
        expect(run.blocked).toEqual([]);
        // The first claim takes two spans of the first attempt, the second one partly; the others find more.
        const first = run.order[0]!;
        expect(meeting.claims.get(first)?.attempt).toBe(0);
        expect([...meeting.claims.values()].every((claim) => claim === null || claim.itemCount > 0)).toBe(
          true,
        );
      },
    });
    expect(runs).toHaveLength(ordersOf(90));
  });

  test('with a rescue find the items of the lost lease once, marked as expired', async () => {
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [
        claimer('A', 10),
        rescuer('R', ['lock-expired-leases']),
        rescuer('S', ['lock-expired-leases']),
      ],
      setup: (admin) =>
        seedMeeting(admin, {
          items: 7,
          sealed: true,
          spans: [{ items: [[0, 4]], lease: { expired: true } }, { items: [[4, 7]] }],
        }),
      async check(run, meeting, admin) {
        await expectLeasedAsClaimed(meeting, admin, 7);
        expect(run.blocked).toEqual([]);
        const rescued = [...meeting.rescues.values()].reduce((sum, report) => sum + report.leases, 0);
        expect(rescued).toBe(1);
        const { rows } = await admin.query(
          `select sum(item_count) filter (where crashes = -1)::int as expired,
             sum(item_count) filter (where crashes = 0)::int as others from spans where job_id = $1`,
          [meeting.jobId],
        );
        expect(rows[0]).toEqual({ expired: 4, others: 3 });
      },
    });
    expect(runs).toHaveLength(ordersOf(90));
  });
});

describe.each([
  { way: 'in one statement', fence: 'record-done', outcome: plainOutcome },
  { way: 'in a transaction', fence: 'fence-leases', outcome: doneOutcome },
])('a late worker that flushes $way', ({ fence, outcome }) => {
  test('whose lease is renewed, rescued and flushed concurrently records everything or nothing', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        renewer('K', (meeting) => meeting.leases),
        rescuer('R', ['lock-expired-leases']),
        flusher('F', ({ leases }) => [[leases[0]!, [0, 1]]], { stops: [fence], outcome }),
      ],
      setup: (admin) =>
        seedMeeting(admin, {
          items: 4,
          sealed: true,
          spans: [{ items: [[0, 4]], lease: { expired: true } }],
        }),
      async check(run, meeting, admin) {
        await expectSound(meeting, admin);
        const { recorded, fenced } = meeting.flushes.get('F')!;
        const rescued = meeting.rescues.get('R')!.leases;
        expect([
          [2, 0],
          [0, 2],
        ]).toContainEqual([recorded, fenced]);
        expect(await countResults(admin, meeting)).toBe(recorded);
        if (rescued > 0 && startedBefore(run, 'R.lock-expired-leases', `F.${fence}`))
          expect(fenced, 'a flush after the rescue').toBe(2);
        if (rescued === 0) expect(recorded, 'a flush of a lease that was not rescued').toBe(2);
        if (rescued > 0 && startedBefore(run, 'R.lock-expired-leases', 'K.renew-leases'))
          expect(meeting.renewed, 'a renewal after the rescue').toBe(0);
        const { rows } = await admin.query('select sum(fenced)::int as n from ledger where job_id = $1', [
          meeting.jobId,
        ]);
        expect(rows[0].n, 'late outcomes are counted').toBe(fenced);
        seen.add(`rescued ${rescued}, renewed ${meeting.renewed}, recorded ${recorded}`);
      },
    });
    expectSeen(seen, [
      'rescued 1, renewed 0, recorded 0',
      'rescued 1, renewed 0, recorded 2',
      'rescued 0, renewed 1, recorded 2',
    ]);
  });

  test('changes nothing if its span is leased by another worker by now', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        rescuer('R', []),
        claimer('N', 1),
        flusher('Z', ({ leases }) => [[leases[0]!, [0]]], { stops: [fence], outcome }),
      ],
      // A lone item keeps its span row through rescue and claim: only the token distinguishes the holders.
      setup: (admin) =>
        seedMeeting(admin, {
          items: 1,
          sealed: true,
          spans: [{ items: [[0, 1]], lease: { expired: true } }],
        }),
      async check(run, meeting, admin) {
        await expectSound(meeting, admin);
        const { recorded } = meeting.flushes.get('Z')!;
        expect(await countResults(admin, meeting)).toBe(recorded);
        if (meeting.claims.get('N')) {
          expect(meeting.claims.get('N')!.spanId).toBe(meeting.leases[0]!.spanId);
          expect(recorded).toBe(0);
        }
        if (startedBefore(run, `Z.${fence}`, 'R.end')) expect(recorded).toBe(1);
      },
    });
  });

  // Fails if the flush identifies leases by span id instead of by token.
  test('that claims half of its lost lease again, in the same span, records the new half only', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        rescuer('R', []),
        steppedSession<Meeting>({
          name: 'W',
          stops: ['claim-first-phase'],
          async work(engineContext, meeting) {
            const { jobId, leases } = meeting;
            await claim(engineContext.db, 'W', 1, meeting);
            const anew = meeting.claims.get('W');
            if (!anew) return;
            // The worker ran both items under the first lease, and the first of them again under the second.
            const report = await flushOutcomes(
              engineContext,
              {
                jobId,
                generation: 1,
                phase: 0,
                workerId: newId(),
                flushId: newId(),
                leases: [
                  doneOutcomes(leases[0]!, [1]),
                  doneOutcomes({ ...leases[0]!, spanId: anew.spanId, token: anew.token }, [0]),
                ],
              },
              false,
            );
            meeting.flushes.set('W', report);
          },
        }),
      ],
      setup: (admin) =>
        seedMeeting(admin, {
          items: 2,
          sealed: true,
          spans: [{ items: [[0, 2]], lease: { expired: true } }],
        }),
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        const report = meeting.flushes.get('W');
        if (report) expect(report).toMatchObject({ recorded: 1, fenced: 1 });
      },
    });
  });

  test('that returns its lease while two of its flushes run loses and duplicates nothing', async () => {
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flusher('F', ({ leases }) => [[leases[0]!, [0, 3]]], { stops: [fence], outcome }),
        flusher('G', ({ leases }) => [[leases[0]!, [1]]], { stops: [fence], outcome }),
        releaser('L', []),
      ],
      setup: (admin) =>
        seedMeeting(admin, { items: 5, sealed: true, spans: [{ items: [[0, 5]], lease: {} }] }),
      async check(_run, meeting, admin) {
        const recorded = [...meeting.flushes.values()].reduce((sum, report) => sum + report.recorded, 0);
        expect(await countResults(admin, meeting)).toBe(recorded);
        expect(meeting.released).toBe(1);
        await expectSound(meeting, admin);
      },
    });
    expect(runs).toHaveLength(ordersOf(90));
  });

  test('that returns queued items while it flushes the others completes both', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flusher('F', ({ leases }) => [[leases[0]!, [4]]], { stops: [fence], outcome }),
        releaser('L', [0, 1, 2]),
        rescuer('R', []),
      ],
      setup: (admin) =>
        seedMeeting(admin, {
          items: 6,
          sealed: true,
          spans: [{ items: [[0, 6]], lease: { expired: true } }],
        }),
      check: (_run, meeting, admin) => expectSound(meeting, admin),
    });
  });
});

describe('the end of a job', () => {
  const lastTwo = (admin: pg.Client) =>
    seedMeeting(admin, {
      items: 6,
      sealed: true,
      spans: [
        { items: [[2, 4]], lease: {} },
        { items: [[4, 6]], lease: {} },
      ],
    });

  test('is detected by exactly one of two last flushes', async () => {
    const enders = new Set<string>();
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flusher('A', ({ leases }) => [[leases[0]!, [2, 3]]]),
        flusher('B', ({ leases }) => [[leases[1]!, [4, 5]]]),
      ],
      setup: lastTwo,
      async check(_run, meeting, admin) {
        await expectEnded(meeting, admin, 6);
        expect(meeting.enders).toHaveLength(1);
        enders.add(meeting.enders[0]!);
      },
    });
    expect(runs).toHaveLength(ordersOf(70));
    expect(enders).toEqual(new Set(['A', 'B']));
  });

  test('is detected by exactly one of three last flushes, in two phases', async () => {
    await forEveryInterleaving({
      databaseUrl,
      limit: 40,
      sessions: [
        flusher('A', ({ leases }) => [[leases[0]!, [0]]], { stops: ['record-done'], outcome: plainOutcome }),
        flusher('B', ({ leases }) => [[leases[1]!, [1, 2]]], { stops: ['commit', 'begin-finalizing'] }),
        flusher('C', ({ leases }) => [[leases[2]!, [3]]], { stops: ['commit', 'begin-finalizing'] }),
      ],
      setup: (admin) =>
        seedMeeting(admin, {
          items: 4,
          sealed: true,
          spans: [
            { items: [[0, 1]], lease: {} },
            { items: [[1, 3]], lease: {}, phase: 1 },
            { items: [[3, 4]], lease: {} },
          ],
        }),
      async check(_run, meeting, admin) {
        await expectEnded(meeting, admin, 4);
        expect(meeting.enders).toHaveLength(1);
      },
    });
  });

  test('is detected if the items are done before the seal or during it', async () => {
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flusher('W', ({ leases }) => [[leases[0]!, [0, 1, 2]]]),
        steppedSession<Meeting>({
          name: 'I',
          stops: ['seal-job', 'commit', 'begin-finalizing'],
          async work(engineContext, meeting) {
            await engineContext.db.transaction((tx) => sealJobRow(tx, meeting.jobId));
            if (await finalizeIfComplete(engineContext, meeting.jobId)) meeting.enders.push('I');
          },
        }),
      ],
      setup: (admin) =>
        seedMeeting(admin, { items: 3, sealed: false, spans: [{ items: [[0, 3]], lease: {} }] }),
      async check(_run, meeting, admin) {
        await expectEnded(meeting, admin, 3);
        expect(meeting.enders).toHaveLength(1);
      },
    });
    expect(runs).toHaveLength(ordersOf(70));
  });

  test('is not reached before the seal, even if the state is RUNNING', async () => {
    // No transition leads to this state today: the condition is the seal itself, not the state that usually follows.
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [flusher('W', ({ leases }) => [[leases[0]!, [0, 1, 2]]]), sweeping('S')],
      setup: (admin) =>
        seedMeeting(admin, {
          items: 3,
          sealed: false,
          state: 'RUNNING',
          spans: [{ items: [[0, 3]], lease: {} }],
        }),
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        const { rows } = await admin.query('select state from jobs where job_id = $1', [meeting.jobId]);
        expect(rows[0].state).toBe('RUNNING');
        expect(meeting.enders).toEqual([]);
      },
    });
    expect(runs).toHaveLength(ordersOf(70));
  });

  test('without items is written once, by the sealer or by a sweep', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        steppedSession<Meeting>({
          name: 'I',
          stops: ['seal-job', 'begin-finalizing', 'claim-finalize'],
          work: (engineContext, { jobId }) => sealJob(engineContext, jobId),
        }),
        sweeping('S'),
      ],
      setup: (admin) => seedMeeting(admin, { items: 0, sealed: false, spans: [] }),
      check: (_run, meeting, admin) => expectEnded(meeting, admin, 0),
    });
  });

  test('is written once by two finalizers, the first of which lost its finalize lease', async () => {
    const finalizer = (name: string, stops: string[]): Session<Meeting> =>
      steppedSession({
        name,
        stops,
        async work(engineContext, meeting) {
          if (await finalizeJob(engineContext, meeting.jobId)) meeting.enders.push(name);
        },
      });
    const expiry: Session<Meeting> = {
      name: 'X',
      steps: [
        {
          name: 'expire',
          run: (client, { jobId }) =>
            client.query(
              `update jobs set finalize_expires_at = now() - interval '1 second'
               where job_id = $1 and state = 'FINALIZING' and finalize_expires_at is not null`,
              [jobId],
            ),
        },
      ],
    };
    const enders = new Set<string>();
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [
        finalizer('A', ['claim-finalize', 'finish-job']),
        expiry,
        finalizer('B', ['claim-finalize']),
      ],
      setup: (admin) => seedMeeting(admin, { items: 3, sealed: true, spans: [], state: 'FINALIZING' }),
      async check(run, meeting, admin) {
        await expectEnded(meeting, admin, 3);
        expect(meeting.enders).toHaveLength(1);
        const taken = ['A.claim-finalize', 'X.expire', 'B.claim-finalize', 'A.finish-job'];
        if (taken.every((step, at) => at === 0 || startedBefore(run, taken[at - 1]!, step)))
          expect(meeting.enders, 'a finalizer without the lease does not write').toEqual(['B']);
        enders.add(meeting.enders[0]!);
      },
    });
    expect(runs).toHaveLength(ordersOf(60));
    expect(enders).toEqual(new Set(['A', 'B']));
  });

  test('waits for an ingest batch that started before the seal, and a later batch is refused', async () => {
    const seen = new Set<string>();
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        steppedSession<Meeting>({
          name: 'B',
          stops: ['reserve-seqs', 'copy-items'],
          async work(engineContext, meeting) {
            meeting.stored = await addItems(engineContext, meeting.jobId, [{ n: 1 }, { n: 2 }]).catch(
              (error: unknown) => (error instanceof RowmillError ? error.code : String(error)),
            );
          },
        }),
        steppedSession<Meeting>({
          name: 'I',
          stops: ['seal-job'],
          work: (engineContext, { jobId }) => sealJob(engineContext, jobId),
        }),
        steppedSession<Meeting>({
          name: 'F',
          stops: [],
          work: (engineContext, { jobId }) => finalizeIfComplete(engineContext, jobId),
        }),
      ],
      setup: (admin) => seedMeeting(admin, { items: 3, sealed: false, spans: [] }),
      async check(run, meeting, admin) {
        await expectSound(meeting, admin);
        const inTime = startedBefore(run, 'B.reserve-seqs', 'I.seal-job');
        expect(meeting.stored).toBe(inTime ? 2 : 'JOB_NOT_INGESTING');
        const { rows } = await admin.query('select state from jobs where job_id = $1', [meeting.jobId]);
        expect(rows[0].state).toBe(inTime ? 'RUNNING' : 'DONE');
        await expectDrains(meeting, admin, inTime ? 5 : 3);
        seen.add(String(meeting.stored));
      },
    });
    if (isDeep) expect(seen.size).toBe(2);
  });
});

describe('a statement with an old snapshot', () => {
  // A policy that waits at a gate freezes a statement after it took its snapshot and before it reads a row. It applies
  // only to sessions with this role.
  const role = `rowmill_gated_${process.pid}`;
  const atGate = `set role ${role}`;
  const gate: Session<Meeting> = {
    name: 'Gate',
    steps: [
      { name: 'close', run: (client) => client.query('select pg_advisory_lock(1001)') },
      { name: 'open', run: (client) => client.query('select pg_advisory_unlock(1001)') },
    ],
  };

  beforeAll(async () => {
    await database.query(`
      create role ${role};
      grant all on all tables in schema public to ${role};
      create function pass_gate() returns boolean language plpgsql volatile as $$
        begin
          perform pg_advisory_lock_shared(1001);
          perform pg_advisory_unlock_shared(1001);
          return true;
        end $$;
      alter table jobs enable row level security;
      create policy gate on jobs to ${role} using (pass_gate());
      alter table spans enable row level security;
      create policy gate on spans to ${role} using (pass_gate());`);
  });
  afterAll(() => database.query(`drop owned by ${role}; drop role ${role}`));

  test.each([
    ['a part of it', 3, [[3, 6]]],
    ['all of it', 6, [[6, 8]]],
  ])('claims only the rest if another claim took %s meanwhile', async (_what, others, left) => {
    const late = 'Gate.close B.end A.end Gate.open';
    const atOnce = (name: string, maxItems: number, prepare: string): Session<Meeting> =>
      steppedSession({
        name,
        stops: [],
        prepare,
        work: ({ db }, meeting) => claim(db, name, maxItems, meeting),
      });
    const runs = await forEveryInterleaving({
      databaseUrl,
      include: [late],
      sessions: [gate, atOnce('A', others, ''), atOnce('B', 3, atGate)],
      setup: (admin) =>
        seedMeeting(admin, {
          items: 8,
          sealed: true,
          spans: [{ items: [[0, 6]] }, { items: [[6, 8]], attempt: 1 }],
        }),
      async check(run, meeting, admin) {
        await expectLeasedAsClaimed(meeting, admin, 8);
        if (run.order === late) expect(meeting.claims.get('B')?.ranges).toEqual(left);
      },
    });
    expect(runs.find(({ order }) => order === late)?.blocked).toEqual(['B.end']);
  });

  describe('that checks for the end of the job, as in seed 001,', () => {
    const options = {
      databaseUrl,
      sessions: [
        gate,
        flusher('s2-1', ({ leases }) => [[leases[0]!, [2, 3]]], {
          stops: ['commit', 'begin-finalizing'],
          prepare: atGate,
        }),
        flusher('s2-4', ({ leases }) => [[leases[1]!, [4, 5]]]),
      ],
      setup: (admin: pg.Client) =>
        seedMeeting(admin, {
          items: 6,
          sealed: true,
          spans: [
            { items: [[2, 4]], lease: {} },
            { items: [[4, 6]], lease: {} },
          ],
        }),
      async check(_run: InterleavingRun, meeting: Meeting, admin: pg.Client) {
        await expectEnded(meeting, admin, 6);
        expect(meeting.enders).toHaveLength(1);
      },
    };

    test('leaves it to the session that commits last, in the order of the seed', async () => {
      // s2-1 is done and counts with a frozen snapshot; s2-4 commits the last row and checks before s2-1 answers.
      const only =
        's2-1.commit Gate.close s2-1.begin-finalizing s2-4.fence-leases s2-4.commit s2-4.begin-finalizing Gate.open s2-1.end s2-4.end';
      const [run] = await forEveryInterleaving({
        ...options,
        only,
        async check(ended, meeting, admin) {
          await options.check(ended, meeting, admin);
          expect(meeting.enders).toEqual(['s2-4']);
        },
      });
      expect(run!.blocked).toEqual(['s2-1.begin-finalizing']);
    });

    test('finishes it exactly once in every other order too', async () => {
      const runs = await forEveryInterleaving({ ...options, limit: 60 });
      expect(runs).toHaveLength(ordersOf(60));
    });
  });
});

describe('several leases', () => {
  const twoLeases = (admin: pg.Client) =>
    seedMeeting(admin, {
      items: 8,
      sealed: true,
      spans: [
        { items: [[0, 4]], lease: {} },
        { items: [[4, 8]], lease: {} },
      ],
    });

  test('are flushed in opposite order by two flushes without a deadlock', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        holder('X', ({ leases }) => leases[1]!),
        flusher(
          'F',
          ({ leases: [low, high] }) => [
            [low!, [0]],
            [high!, [4]],
          ],
          { stops: [] },
        ),
        flusher(
          'G',
          ({ leases: [low, high] }) => [
            [high!, [5]],
            [low!, [1]],
          ],
          { stops: [] },
        ),
      ],
      setup: twoLeases,
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        expect(await countResults(admin, meeting)).toBe(4);
      },
    });
  });

  // Fails if the renewal does not lock its spans in span order, as the fence does.
  test('are renewed, the newest span first, and flushed without a deadlock', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        holder('X', ({ leases }) => leases[1]!),
        // The keeper passes leases in the order of their claims, which is not the order of span ids. With statistics
        // the planner locks them in that order.
        renewer('K', ({ leases }) => leases.toReversed(), { stops: [] }),
        flusher(
          'F',
          ({ leases: [low, high] }) => [
            [low!, [0]],
            [high!, [4]],
          ],
          { stops: [] },
        ),
      ],
      async setup(admin) {
        const meeting = await twoLeases(admin);
        await admin.query('analyze spans');
        return meeting;
      },
      async check(_run, meeting, admin) {
        await expectSound(meeting, admin);
        expect(meeting.renewed).toBe(2);
        expect(await countResults(admin, meeting)).toBe(2);
      },
    });
  });

  // Fails if a rescue does not process its leases in the order of job and phase: error groups are locked in lease
  // order.
  test('of two dead workers are failed by two rescues without a deadlock', async () => {
    const [first, second] = [newId(), newId()];
    const lone = (seq: number, phase: number, workerId: string) =>
      ({ items: [[seq, seq + 1]], phase, crashes: 2, lease: { workerId } }) as const;
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        rescuer('R', ['upsert-error-groups', 'upsert-error-groups'], () => first),
        rescuer('S', ['upsert-error-groups', 'upsert-error-groups'], () => second),
      ],
      setup: (admin) =>
        seedMeeting(admin, {
          items: 4,
          sealed: true,
          spans: [lone(0, 0, first), lone(1, 1, first), lone(2, 1, second), lone(3, 0, second)],
        }),
      check: (_run, meeting, admin) => expectEnded(meeting, admin, 0),
    });
  });
});

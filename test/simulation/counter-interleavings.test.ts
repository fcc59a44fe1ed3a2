// Every interleaving of flushes that feed the same counters, some of them in a later generation, with each other, a
// cancellation, a rescue, the deletion of a job, the folder and the counter check, on real connections. In every order
// there is no deadlock, no number is lost, and all sums equal a recount.
import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Contribution, defineCounter } from '../../src/core/items/counter.ts';
import { checkCounters } from '../../src/engine/counters/check-counters.ts';
import { registerDefinitions } from '../../src/engine/counters/known-counters.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { flushOutcomes, type RecordedOutcome } from '../../src/engine/flush/flush-outcomes.ts';
import { rescueLeases } from '../../src/engine/flush/rescue-leases.ts';
import { decideCancel } from '../../src/engine/jobs/cancel-job.ts';
import { finalizeIfComplete } from '../../src/engine/jobs/finalize-if-complete.ts';
import { reprocessJob } from '../../src/engine/reprocess/reprocess-job.ts';
import { foldCounters } from '../../src/engine/services/counter-folder.ts';
import { newId } from '../../src/platform/random.ts';
import { settleContributions } from '../../src/store/commands/counters/settle-contributions.ts';
import { cancelItems } from '../../src/store/commands/spans/cancel-items.ts';
import { countedEntries, recountCounters } from '../support/counter-recount.ts';
import { forEveryInterleaving, type Session } from '../support/interleave.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { prepareForMany } from './prepare-for-many.ts';
import { steppedSession, takeDeadlocks } from './stepped-session.ts';

const database = useTestDatabase();
const databaseUrl = database.url;
const counter = defineCounter({ name: 'notes', scope: 'project', entity: 'document', measures: ['notes'] });
let engine: EngineContext;

beforeAll(async () => {
  await prepareForMany(database);
  engine = database.context();
  await registerDefinitions(engine.db, [counter]);
});

interface Lease {
  jobId: string;
  spanId: number;
  token: string;
  generation: number;
}

interface Meeting {
  /** By name: a job with one leased span. */
  jobs: Map<string, Lease>;
}

/** The contribution of an item: "+scope/entity 3" adds, "=scope/entity 3" replaces, "" is nothing. */
function contributionsOf(text: string): Contribution[] {
  if (text === '') return [];
  const [, sign, scope, entity, number] = /^([+=])(\w+)\/(\w+) (\d+)$/.exec(text)!;
  const mode = sign === '+' ? 'add' : 'replace';
  return [
    { counter: counter.name, scope: scope!, entity: entity!, mode, measured: { notes: Number(number) } },
  ];
}

/** Creates a job whose items are leased by a worker. */
async function leasedJob(admin: pg.Client, items: number): Promise<Lease> {
  const lease = { jobId: newId(), token: newId(), generation: 1 };
  await admin.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, state, item_count, sealed_at, started_at, outputs)
     values ($1, 'test', 'simulated', '{only}', 'RUNNING', $2, now(), now(), '{}')`,
    [lease.jobId, items],
  );
  await admin.query(
    `insert into items (job_id, seq, input_bytes, input) select $1, n, 2, '{}' from generate_series(0, $2::bigint - 1) n`,
    [lease.jobId, items],
  );
  const { rows } = await admin.query<{ span_id: string }>(
    `insert into spans (job_id, generation, phase, items, item_count, worker_id, token, expires_at)
     values ($1, 1, 0, int8multirange(int8range(0, $2)), $2, gen_random_uuid(), $3, now() + interval '1 hour') returning span_id`,
    [lease.jobId, items, lease.token],
  );
  return { ...lease, spanId: Number(rows[0]!.span_id) };
}

/** Reopens all items of a finished job and leases them to a worker. */
async function leasedAgain(admin: pg.Client, { jobId }: Lease): Promise<Lease> {
  await reprocessJob(engine, jobId, { statuses: 'all' });
  const token = newId();
  const { rows } = await admin.query<{ span_id: string; generation: number }>(
    `update spans set worker_id = $3, token = $2, expires_at = now() + interval '1 hour' where job_id = $1
     returning span_id, generation`,
    [jobId, token, HOLDER],
  );
  expect(rows).toHaveLength(1);
  return { jobId, token, spanId: Number(rows[0]!.span_id), generation: rows[0]!.generation };
}

/** Returns the number of recorded outcomes. */
async function record(
  context: EngineContext,
  { jobId, spanId, token, generation }: Lease,
  counted: string[],
): Promise<number> {
  const outcomes = counted.map(
    (text, seq): RecordedOutcome => ({
      seq,
      kind: 'terminal',
      status: 'DONE',
      json: '{}',
      failure: null,
      delayMs: 0,
      handlerMs: 1,
      counted: contributionsOf(text),
    }),
  );
  const lease = { spanId, token, attempt: 0, failures: '', crashes: 0, priority: 0, outcomes };
  const ids = { jobId, workerId: newId(), flushId: newId() };
  const report = await flushOutcomes(context, { ...ids, generation, phase: 0, leases: [lease] }, false);
  return report.recorded;
}

async function flush(context: EngineContext, lease: Lease, counted: string[]): Promise<void> {
  expect(await record(context, lease, counted)).toBe(counted.length);
}

/**
 * Removes everything and creates flushed jobs (`before`), some of them leased again (`again`), and jobs yet to be
 * flushed (`jobs`).
 */
async function seedMeeting(
  admin: pg.Client,
  {
    before = {},
    again = [],
    jobs = {},
  }: { before?: Record<string, string[]>; again?: string[]; jobs?: Record<string, string[]> },
): Promise<Meeting> {
  takeDeadlocks();
  await admin.query('delete from spans; delete from jobs');
  await admin.query(
    'delete from counter_contributions; delete from counter_entries; delete from counter_entities; delete from counter_scopes; delete from counter_scope_deltas',
  );
  const meeting: Meeting = { jobs: new Map() };
  for (const [name, counted] of Object.entries(before)) {
    const lease = await leasedJob(admin, counted.length);
    meeting.jobs.set(name, lease);
    await flush(engine, lease, counted);
    await finalizeIfComplete(engine, lease.jobId);
  }
  for (const name of again) meeting.jobs.set(name, await leasedAgain(admin, meeting.jobs.get(name)!));
  for (const [name, counted] of Object.entries(jobs))
    meeting.jobs.set(name, await leasedJob(admin, counted.length));
  return meeting;
}

// The sessions. Each runs the engine's own functions.

/** The worker that leases items of later generations. */
const HOLDER = newId();
const CRASHED = newId();
const AGAIN_STOPS = ['fence-leases', 'change-and-take-back', 'copy-counter-contributions'];
const FLUSH_STOPS = ['fence-leases', 'change-counter-entries', 'copy-counter-contributions'];

function flushing(name: string, counted: string[], stops = FLUSH_STOPS): Session<Meeting> {
  return steppedSession<Meeting>({
    name,
    stops,
    work: (context, { jobs }) => flush(context, jobs.get(name)!, counted),
  });
}

function session(
  name: string,
  stops: string[],
  work: (context: EngineContext, meeting: Meeting) => Promise<unknown>,
): Session<Meeting> {
  return steppedSession<Meeting>({ name, stops, work });
}

/** Locks a row for a while, so that statements block in the middle of their rows. */
function holding(table: string, condition: string): Session<Meeting> {
  return {
    name: 'holder',
    steps: [
      {
        name: 'take',
        run: async (client) => {
          await client.query('begin');
          await client.query(`select 1 from ${table} where ${condition} for update`);
        },
      },
      { name: 'release', run: (client) => client.query('commit') },
    ],
  };
}

async function check(allowed: Record<string, string>[]): Promise<void> {
  expect(takeDeadlocks()).toEqual([]);
  expect(await recountCounters(database)).toEqual([]);
  expect(allowed).toContainEqual(await countedEntries(database, counter.name));
}

describe('flushes of different jobs', () => {
  // In opposite order of their rows; both touch every row.
  const a = ['+p/a 1', '+p/m 1', '+p/z 1'];
  const b = ['+p/z 2', '=p/m 10', '+p/a 2'];

  test.each([
    ['existing rows', { first: ['+p/a 100', '+p/m 100', '+p/z 100'] }, 100],
    ['rows of which one is new', { first: ['+p/a 100', '+p/m 100'] }, 0],
  ])('feed %s', async (_, before, z) => {
    const jobs = { A: a, B: b };
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flushing('A', a, ['change-counter-entries']),
        flushing('B', b, ['change-counter-entries']),
        holding('counter_entries', `entity = 'm'`),
      ],
      limit: 40,
      setup: (admin) => seedMeeting(admin, { before, jobs }),
      check: () => check(['10', '11'].map((m) => ({ 'p/a': '103', 'p/m': m, 'p/z': String(z + 3) }))),
    });
  });

  test('feed the same entities in different scopes', async () => {
    const one = ['+p/a 1', '+p/m 1', '+p/z 1'];
    const two = ['+q/z 2', '+q/m 2', '=q/a 2'];
    const runs = await forEveryInterleaving({
      databaseUrl,
      sessions: [flushing('A', one), flushing('B', two), holding('counter_entities', `entity = 'm'`)],
      limit: 50,
      setup: (admin) =>
        seedMeeting(admin, { before: { first: ['+p/m 100', '+q/a 50'] }, jobs: { A: one, B: two } }),
      check: () => check([{ 'p/a': '1', 'p/m': '101', 'p/z': '1', 'q/a': '2', 'q/m': '2', 'q/z': '2' }]),
    });
    expect(
      runs.some(({ blocked }) => blocked.length > 0),
      'void: no session blocked another',
    ).toBe(true);
  });
});

describe('a flush of a later generation', () => {
  const old = ['+p/a 5', '=p/m 7', '+q/a 3'];
  // The first counts more, the second elsewhere, the third nothing.
  const again = ['+p/a 50', '+z/n 4', ''];

  test('takes back once, whatever is added or replaced concurrently', async () => {
    const added = ['+q/a 1', '=p/a 20', '+p/m 2'];
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flushing('A', added),
        flushing('old', again, AGAIN_STOPS),
        holding('counter_entries', `entity = 'm'`),
      ],
      limit: 50,
      setup: (admin) => seedMeeting(admin, { before: { old }, again: ['old'], jobs: { A: added } }),
      // The replacement voids the 5 whether or not they were taken back before, and the 50 if it comes later.
      check: () => check(['20', '70'].map((a) => ({ 'p/a': a, 'p/m': '2', 'q/a': '1', 'z/n': '4' }))),
    });
  });

  test('replaces after adding and adds after replacing, concurrently with others', async () => {
    const replacing = ['=p/a 50', '+p/m 4', '=q/a 0'];
    const added = ['+q/a 1', '+p/a 20', '=p/m 2'];
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flushing('A', added, ['change-counter-entries']),
        flushing('old', replacing, AGAIN_STOPS),
        session('F', ['fold-counter-deltas'], (context) => foldCounters(context)),
      ],
      limit: 50,
      setup: (admin) => seedMeeting(admin, { before: { old }, again: ['old'], jobs: { A: added } }),
      check: () =>
        check([
          { 'p/a': '50', 'p/m': '6', 'q/a': '0' },
          { 'p/a': '70', 'p/m': '2', 'q/a': '1' },
        ]),
    });
  });

  test('runs concurrently with another one that has its entries in the opposite order', async () => {
    const one = ['+p/z 1', '+p/m 2', '+p/a 3', '+q/z 4'];
    const two = ['+q/z 10', '+p/a 20', '+p/m 30', '+p/z 40'];
    // Each adds to the entries that the other only takes back from.
    const oneAgain = ['+q/z 5', '', '+q/n 6', '+p/m 7'];
    const twoAgain = ['+q/n 50', '+p/z 60', '', '+p/a 70'];
    for (const table of ['counter_entries', 'counter_entities'])
      await forEveryInterleaving({
        databaseUrl,
        sessions: [
          flushing('one', oneAgain, ['change-and-take-back']),
          flushing('two', twoAgain, ['change-and-take-back']),
          holding(table, `entity = 'm'`),
        ],
        limit: 40,
        setup: (admin) => seedMeeting(admin, { before: { one, two }, again: ['one', 'two'] }),
        check: () => check([{ 'p/a': '70', 'p/m': '7', 'p/z': '60', 'q/n': '56', 'q/z': '5' }]),
      });
  });

  test('that is cancelled counts by its new results, or leaves the earlier counts', async () => {
    const added = ['+q/a 1', '=p/a 20', '+p/m 2'];
    const recorded: number[] = [];
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flushing('A', added, ['change-counter-entries']),
        session('old', ['fence-leases', 'change-and-take-back'], async (context, { jobs }) => {
          recorded.push(await record(context, jobs.get('old')!, again));
        }),
        session('C', ['cancel-items'], (context, { jobs }) =>
          cancelItems(context.db, jobs.get('old')!.jobId, 100),
        ),
      ],
      limit: 60,
      setup: async (admin) => {
        const meeting = await seedMeeting(admin, { before: { old }, again: ['old'], jobs: { A: added } });
        await decideCancel(engine, meeting.jobs.get('old')!.jobId);
        return meeting;
      },
      check: () =>
        check(
          recorded.pop() === 0
            ? [{ 'p/a': '20', 'p/m': '9', 'q/a': '4' }]
            : ['20', '70'].map((a) => ({ 'p/a': a, 'p/m': '2', 'q/a': '1', 'z/n': '4' })),
        ),
    });
  });

  test('runs concurrently with the deletion of another job', async () => {
    const other = ['+p/a 100', '+p/m 100', '+q/a 100'];
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flushing('old', again, AGAIN_STOPS),
        session('S', ['settle-contributions'], (context, { jobs }) =>
          settleContributions(context.db, jobs.get('other')!.jobId, 100),
        ),
        flushing('A', ['+p/m 1', '+p/a 1'], ['change-counter-entries']),
      ],
      limit: 60,
      setup: (admin) => seedMeeting(admin, { before: { other, old }, again: ['old'], jobs: { A: ['', ''] } }),
      check: () => check([{ 'p/a': '151', 'p/m': '1', 'q/a': '100', 'z/n': '4' }]),
    });
  });

  test('runs concurrently with the rescue of items that crashed too often, of two jobs', async () => {
    const one = ['+p/z 1'];
    // Voided if the replacement comes first.
    const two = ['+p/m 2'];
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flushing('old', again, ['change-and-take-back']),
        flushing('A', ['+p/z 10', '=p/m 100', '+p/a 10'], ['change-counter-entries']),
        session('R', ['take-back-contributions'], async (context) => {
          expect(await rescueLeases(context, { deadWorkerId: CRASHED })).toEqual({
            leases: 2,
            failedItems: 2,
          });
        }),
      ],
      limit: 60,
      setup: async (admin) => {
        const meeting = await seedMeeting(admin, {
          before: { old, one, two },
          again: ['old', 'one', 'two'],
          jobs: { A: ['', '', ''] },
        });
        for (const name of ['one', 'two'])
          await admin.query('update spans set worker_id = $2, crashes = 2 where job_id = $1', [
            meeting.jobs.get(name)!.jobId,
            CRASHED,
          ]);
        return meeting;
      },
      check: () => check([{ 'p/a': '60', 'p/m': '100', 'p/z': '10', 'q/a': '0', 'z/n': '4' }]),
    });
  });
});

describe('the counter check', () => {
  const old = ['+p/a 5', '+p/m 7', '+q/a 3'];
  const added = ['+q/a 1', '+p/a 20', '=p/m 2'];
  const counterCheck = session(
    'check',
    [
      'find-drift-of-entries',
      'lock-drifted-entries',
      'repair-entries',
      'find-drift-of-entities',
      'lock-drifted-entities',
    ],
    (context) => checkCounters(context, { repair: true }),
  );

  test('finds no drift in correct numbers, whatever is being written', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [
        flushing('A', added, ['change-counter-entries', 'copy-counter-contributions']),
        session('check', ['find-drift-of-entries', 'find-drift-of-entities'], async (context) => {
          expect(await checkCounters(context)).toMatchObject({ drifted: [], complete: true });
        }),
        flushing('old', ['', '+p/m 8', '=q/a 6'], ['change-and-take-back']),
      ],
      limit: 50,
      setup: (admin) => seedMeeting(admin, { before: { old }, again: ['old'], jobs: { A: added } }),
      check: () =>
        check(['2', '10'].flatMap((m) => ['6', '7'].map((a) => ({ 'p/a': '20', 'p/m': m, 'q/a': a })))),
    });
  });

  test('repairs drift and loses no concurrent write', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: [flushing('A', added, ['change-counter-entries']), counterCheck],
      setup: async (admin) => {
        const meeting = await seedMeeting(admin, { before: { old }, jobs: { A: added } });
        await admin.query(`update counter_entries set measured = '{1000}' where scope = 'q'`);
        await admin.query(`update counter_entries set measured = '{0}' where entity = 'm'`);
        await admin.query(`update counter_entities set measured = '{44}' where entity = 'a'`);
        await admin.query(`delete from counter_entities where entity = 'm'`);
        await admin.query(`insert into counter_scopes (counter_id, owner_id, scope, measured)
                           select counter_id, 'test', 'p', '{-3}' from counters`);
        return meeting;
      },
      check: async () => {
        // The next check repairs what a replacement changed during this one.
        await checkCounters(engine, { repair: true });
        await check([{ 'p/a': '25', 'p/m': '2', 'q/a': '4' }]);
      },
    });
  });

  test('repairs once if two run concurrently', async () => {
    await forEveryInterleaving({
      databaseUrl,
      sessions: ['one', 'two'].map((name) =>
        session(name, ['find-drift-of-scopes', 'repair-scopes'], (context) =>
          checkCounters(context, { repair: true }),
        ),
      ),
      setup: async (admin) => {
        const meeting = await seedMeeting(admin, { before: { old } });
        await admin.query(`insert into counter_scopes (counter_id, owner_id, scope, measured)
                           select counter_id, 'test', 'p', '{5}' from counters`);
        return meeting;
      },
      check: () => check([{ 'p/a': '5', 'p/m': '7', 'q/a': '3' }]),
    });
  });
});

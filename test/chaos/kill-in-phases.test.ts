// A process dies while items are in the middle of a pipeline: each item falls back to its last stored output, and
// earlier phases are not repeated. Handlers record their calls in a file that Rowmill knows nothing about.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { contextOf, openRowmill, type Rowmill } from '../../src/open-rowmill.ts';
import type { FaultPoint } from '../../src/platform/fault-point.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { type Child, killAll, startChild } from '../support/child-process.ts';
import { isDeep, sample } from '../support/depth.ts';
import { checkInvariants } from '../support/invariants.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';
import { CHAOS_SETTINGS, LONG_LEASES, numberedItems, workerIdOf } from './chaos-worker.ts';
import { attemptsOf, checkFinishedJob, heldItems } from './check-finished-job.ts';

const database = useTestDatabase();
const folder = mkdtempSync(join(tmpdir(), 'rowmill-calls-'));
let rowmill: Rowmill;
beforeAll(async () => {
  rowmill = await openRowmill({ databaseUrl: database.url, settings: CHAOS_SETTINGS });
});
afterEach(killAll);
afterAll(async () => {
  await rowmill.close();
  rmSync(folder, { recursive: true, force: true });
});

const ITEMS = 12;
const PHASES = ['first', 'second', 'third'];
const SMALL_STEPS = {
  ...CHAOS_SETTINGS,
  claimMin: 4,
  claimMax: 4,
  flushMaxItems: 4,
  flushMaxDelayMs: 5,
  drainMs: 100,
};

const SMALL_STEPS_LONG_LEASES = { ...SMALL_STEPS, ...LONG_LEASES };

interface Call {
  pid: number;
  phase: number;
  seq: number;
  attempt: number;
  idempotencyKey: string;
  nonce: string;
  inThread: boolean;
  /** `context.previous` as JSON. */
  previous: string | null;
}

interface Stored {
  phase: number;
  seq: number;
  output: string;
}

type PipelineName = 'three-run' | 'three-many' | 'three-threads';

/** The point of death: the nth call of a handler, or the nth passage of a fault point. */
type Death = { inCall: number } | { at: FaultPoint; passage: number };

class Case {
  readonly pipeline: PipelineName;
  readonly callsFile = join(folder, crypto.randomUUID());
  jobId = '';

  constructor(pipeline: PipelineName) {
    this.pipeline = pipeline;
    writeFileSync(this.callsFile, '');
  }

  start(env: Record<string, string> = {}, settings: Partial<Settings> = SMALL_STEPS): Child {
    const { pipeline, callsFile } = this;
    const config = { databaseUrl: database.url, pipeline, settings };
    return startChild({
      script: new URL('phases-child.mjs', import.meta.url),
      args: [JSON.stringify(config)],
      env: { LOG_LEVEL: 'warn', ROWMILL_FAULT_POINTS: '', CALLS_FILE: callsFile, ...env },
    });
  }

  /** Calls of this job. A worker also runs items that an earlier attempt of the test left. */
  calls(): Call[] {
    return readFileSync(this.callsFile, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): Call => JSON.parse(line))
      .filter(({ idempotencyKey }) => idempotencyKey.startsWith(`${this.jobId}:`));
  }

  async submit(): Promise<void> {
    const { jobId } = await createJob(contextOf(rowmill), { pipeline: this.pipeline, phases: PHASES });
    this.jobId = jobId;
    await rowmill.addItems(jobId, numberedItems(ITEMS));
    await rowmill.sealJob(jobId);
  }

  /** Runs every item up to this phase, with a worker that stops in order. */
  async bringTo(phase: number): Promise<void> {
    if (phase === 0) return;
    // Long leases: an item whose lease was lost runs alone, and would never run beside handlers that are held.
    const worker = this.start({ HOLD_FROM: String(phase) }, SMALL_STEPS_LONG_LEASES);
    await worker.waitFor('ready');
    await expect
      .poll(async () => (await this.stored()).filter((row) => row.phase === phase - 1).length)
      .toBe(ITEMS);
    worker.kill('SIGTERM');
    expect(await worker.exited).toEqual({ code: 0, signal: null });
    expect(await heldItems(database, this.jobId), 'void: the first worker left leases behind').toBe(0);
  }

  stored(): Promise<Stored[]> {
    return database.query<Stored>(
      'select phase, seq::int, output::text from stage_outputs where job_id = $1 order by phase, seq',
      [this.jobId],
    );
  }

  /** The phase that each unfinished item waits at or is leased for. */
  async phases(): Promise<Map<number, number>> {
    const rows = await database.query<{ seq: number; phase: number }>(
      `select n::int as seq, s.phase from spans s, unnest(s.items) r, generate_series(lower(r), upper(r) - 1) n
       where s.job_id = $1`,
      [this.jobId],
    );
    return new Map(rows.map(({ seq, phase }) => [seq, phase]));
  }
}

/** Waits until the sessions of dead clients are gone: until then their transactions may still commit. */
async function whenForgotten(): Promise<void> {
  await expect
    .poll(() =>
      database.query(
        `select application_name from pg_stat_activity
         where datname = current_database() and application_name ~ '^rowmill (claim|flush|control|lease|listener)'`,
      ),
    )
    .toEqual([]);
}

const slot = ({ phase, seq }: { phase: number; seq: number }): string => `phase ${phase} of item ${seq}`;

async function expectFallBack(
  pipeline: PipelineName,
  phase: number,
  death: Death,
  inThread = false,
): Promise<void> {
  database.keepIfFailed();
  const one = new Case(pipeline);
  await one.submit();
  await one.bringTo(phase);
  const victim = one.start(
    'inCall' in death
      ? { KILL_IN_PHASE: `${phase}@${death.inCall}` }
      : { ROWMILL_FAULT_POINTS: `${death.at}=kill@${death.passage}` },
  );
  const workerId = await workerIdOf(victim);
  expect(await victim.exited).toEqual({ code: null, signal: 'SIGKILL' });
  if ('at' in death) {
    const faults = victim.events.filter(({ event }) => event === 'fault');
    expect(faults, 'void: the fault did not fire').toMatchObject([{ name: death.at }]);
  }
  await whenForgotten();
  const { jobId } = one;
  const isCommitted = 'at' in death && death.at === 'flush.after_commit';
  if (!isCommitted) {
    expect(await heldItems(database, jobId, workerId), 'void: nothing was in flight').toBeGreaterThan(0);
  }
  expect(await checkInvariants({ query: query as never }, jobId)).toEqual([]);
  const before = { stored: await one.stored(), phases: await one.phases(), calls: one.calls() };

  const second = one.start({}, SMALL_STEPS_LONG_LEASES);
  await whenFinished(rowmill, jobId);
  second.kill('SIGTERM');
  await second.exited;

  const after = { stored: await one.stored(), calls: one.calls() };
  await checkFinishedJob(database, jobId, { counts: { DONE: ITEMS } });
  expect(await checkInvariants({ query: query as never }, jobId, { afterSweep: true })).toEqual([]);
  expect(await attemptsOf(database, jobId), 'a crash charges no attempt').toEqual([1]);
  expect(after.calls.every((call) => call.inThread === inThread)).toBe(true);

  // Outputs stored before the death are unchanged to the letter, and their calls were not repeated.
  const kept = new Map(after.stored.map((row) => [slot(row), row.output]));
  for (const row of before.stored) expect(kept.get(slot(row)), slot(row)).toBe(row.output);
  const storedBefore = new Set(before.stored.map(slot));
  const later = after.calls.slice(before.calls.length);
  expect(later.filter((call) => storedBefore.has(slot(call)))).toEqual([]);

  // A call is repeated only at the phase that the item was in when the process died.
  const calledBefore = new Set(before.calls.map(slot));
  for (const call of later) {
    const at = before.phases.get(call.seq);
    expect(at, `${slot(call)}: the item was already done`).toBeDefined();
    expect(call.phase, slot(call)).toBeGreaterThanOrEqual(at!);
    if (calledBefore.has(slot(call))) expect(call.phase, `${slot(call)} again`).toBe(at);
  }
  const repeated = later.filter((call) => calledBefore.has(slot(call)));
  if (!isCommitted && before.calls.some(({ pid }) => pid === victim.pid))
    expect(repeated, 'void: nothing had to be repeated').not.toEqual([]);
  expect(new Set(later.map(slot)).size, 'the second process repeats no call').toBe(later.length);

  // Every call, first or repeated, received the stored output of the phase before.
  for (const call of after.calls) {
    const previous = call.phase === 0 ? undefined : kept.get(slot({ ...call, phase: call.phase - 1 }));
    const expected = previous === undefined ? null : JSON.stringify(JSON.parse(previous));
    expect(call.previous, slot(call)).toBe(expected);
    expect(call.attempt).toBe(1);
    expect(call.idempotencyKey).toBe(`${jobId}:${call.seq}:1:${call.phase}`);
  }

  // An item's value is built from the stored outputs, one per phase.
  const results = await database.query<{ seq: number; n: number; trail: string[] }>(
    `select seq::int, (result->>'n')::int as n, result->'trail' as trail from results where job_id = $1 order by seq`,
    [jobId],
  );
  const nonces = new Map(after.calls.map((call) => [call.nonce, slot(call)]));
  for (const { seq, n, trail } of results) {
    expect(n).toBe(seq);
    expect(trail.map((nonce) => nonces.get(nonce))).toEqual(
      [0, 1, 2].map((each) => slot({ phase: each, seq })),
    );
    for (const each of [0, 1]) {
      const { trail: part } = JSON.parse(kept.get(slot({ phase: each, seq }))!) as { trail: string[] };
      expect(part).toEqual(trail.slice(0, each + 1));
    }
  }
}

async function query({ text, values }: { text: string; values: unknown[] }): Promise<unknown> {
  return { rows: await database.query(text, values) };
}

const DEATHS: Record<string, Death> = {
  'between the claim and the first call': { at: 'claim.after_commit', passage: 1 },
  'in the first call': { inCall: 1 },
  'in a later call': { inCall: 3 },
  'when a handler has returned': { at: 'handler.after_return', passage: 1 },
  'before a flush commits': { at: 'flush.before_commit', passage: 1 },
  'after a flush has committed': { at: 'flush.after_commit', passage: 1 },
};

const DEATH_PHASES = PHASES.map((name, phase) => ({ name, phase })).filter(
  ({ name }) => isDeep || name === 'second',
);

describe.each(DEATH_PHASES)(
  'only calls without a stored output are repeated after a kill in the $name phase',
  ({ phase }) => {
    const deaths = Object.entries(DEATHS).filter(([name]) => isDeep || name !== 'in the first call');
    test.each(deaths)('%s', (_name, death) => expectFallBack('three-run', phase, death));
  },
);

describe('only calls without a stored output are repeated after a kill', () => {
  const points = ['flush.before_commit', 'flush.after_commit'] as const;
  test.each(sample(points, 1))('at a later flush, at %s', (at) =>
    expectFallBack('three-run', 0, { at, passage: 4 }),
  );
});

describe('only calls without a stored output are repeated after a kill in the second phase of a pipeline', () => {
  test('whose handlers take many items, in a call', () => expectFallBack('three-many', 1, { inCall: 1 }));
  test.runIf(isDeep)('whose handlers take many items, before a flush commits', () =>
    expectFallBack('three-many', 1, { at: 'flush.before_commit', passage: 1 }),
  );
  test('whose handlers run in threads, in a call', () =>
    expectFallBack('three-threads', 1, { inCall: 1 }, true));
  test.runIf(isDeep)('whose handlers run in threads, when one has returned', () =>
    expectFallBack('three-threads', 1, { at: 'handler.after_return', passage: 1 }, true),
  );
});

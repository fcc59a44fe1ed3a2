// A job against its model: random commands of workers that claim, record, stall, die and come back too late. The
// model knows items only, no spans: after every command each item must be where the model says, and the invariants
// must hold. At the end everything is worked off and the summary must be the model's.
//
// Replay a failure with FC_SEED, FC_PATH and FC_REPLAY_PATH as printed.
import fc from 'fast-check';
import pg from 'pg';
import { addFailure } from '../../src/core/failure-counts.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ItemStatus } from '../../src/core/outcome.ts';
import { formatRanges, rangesOf } from '../../src/core/seq-ranges.ts';
import { addItems } from '../../src/engine/add-items.ts';
import { createJob } from '../../src/engine/create-job.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { finishJob } from '../../src/engine/finish-job.ts';
import { type FlushBatch, flushOutcomes, type RecordedOutcome } from '../../src/engine/flush-outcomes.ts';
import { rescueLeases } from '../../src/engine/rescue-leases.ts';
import { sealJob } from '../../src/engine/seal-job.ts';
import { sweep } from '../../src/engine/services/sweeper.ts';
import { newId } from '../../src/platform/random.ts';
import { claimItems } from '../../src/store/commands/claim-items.ts';
import { foldLedgerOf } from '../../src/store/commands/fold-ledger.ts';
import { releaseAllBut, releaseLease } from '../../src/store/commands/release-items.ts';
import { RENEW_LEASES } from '../../src/store/commands/renew-leases.ts';
import { startJob } from '../../src/store/commands/start-job.ts';
import { readSummary } from '../../src/store/views/read-progress.ts';
import { checkInvariants } from '../support/invariants.ts';
import { useTestDatabase } from '../support/test-database.ts';

const RUNS = 300;
const MAX_COMMANDS = 60;
const FIRST_ITEMS = 6;
const MAX_CRASHES = 3;
const LAST_PHASE = 1;
const WORKERS = [newId(), newId(), newId()];

interface ModelItem {
  phase: number;
  attempt: number;
  failures: string;
  crashes: number;
  /** Waits for a retry that is not due. */
  delayed: boolean;
  token: string | null;
  ended: ItemStatus | null;
}

/** What a worker remembers of a lease, whether or not the database agrees. */
interface ModelLease {
  spanId: number;
  token: string;
  worker: string;
  phase: number;
  attempt: number;
  failures: string;
  crashes: number;
  generation: number;
  /** Items the worker has not recorded. */
  seqs: number[];
  expired: boolean;
}

interface Model {
  items: ModelItem[];
  sealed: boolean;
  finished: boolean;
  /** Leases the database knows. */
  held: ModelLease[];
  /** Leases that were rescued or given back: zombies may still use their tokens. */
  dead: ModelLease[];
  fenced: number;
}

interface Real {
  context: EngineContext;
  client: pg.Client;
  jobId: string;
}

type OutcomeName = 'done' | 'failed' | 'notFound' | 'skipped' | 'retry' | 'retryLater' | 'advance';

const database = useTestDatabase();
let context: EngineContext;
let client: pg.Client;

beforeAll(async () => {
  context = database.context();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('set plan_cache_mode = force_generic_plan; set jit = off');
});
afterAll(() => client.end());

// What the model says.

const open = (model: Model): ModelItem[] => model.items.filter((item) => item.ended === null);
const isClaimable = (item: ModelItem, phase: number): boolean =>
  item.ended === null && item.token === null && item.phase === phase && !item.delayed;

/** Somebody looked for the end. */
function lookForEnd(model: Model): void {
  if (model.sealed && open(model).length === 0) model.finished = true;
}

function forgetLease(model: Model, lease: ModelLease): void {
  model.held = model.held.filter((other) => other !== lease);
  if (lease.seqs.length > 0) model.dead.push(lease);
}

/** A lone item is blamed for the crash; in company the first one counts once. */
function crash(model: Model, lease: ModelLease): void {
  const lone = lease.seqs.length === 1;
  for (const seq of lease.seqs) {
    const item = model.items[seq]!;
    item.token = null;
    item.crashes = lone ? item.crashes + 1 : Math.max(item.crashes, 1);
    if (lone && item.crashes >= MAX_CRASHES) item.ended = 'ERROR';
  }
  forgetLease(model, lease);
}

function crashExpired(model: Model): number {
  const expired = model.held.filter((lease) => lease.expired);
  const before = open(model).length;
  for (const lease of expired) crash(model, lease);
  if (open(model).length < before) lookForEnd(model);
  return expired.length;
}

function applyOutcome(item: ModelItem, outcome: OutcomeName): void {
  item.token = null;
  if (outcome === 'advance')
    Object.assign(item, { phase: item.phase + 1, attempt: 0, failures: '', crashes: 0 });
  else if (outcome === 'retry' || outcome === 'retryLater')
    Object.assign(item, {
      attempt: item.attempt + 1,
      failures: addFailure(item.failures, CLASS_OF[outcome]),
      delayed: outcome === 'retryLater',
    });
  else item.ended = STATUS_OF[outcome];
}

/** Two classes, so that histories differ. */
const CLASS_OF = { retry: 'overloaded', retryLater: 'throttled' } as const;
const STATUS_OF = { done: 'DONE', failed: 'ERROR', notFound: 'NOT_FOUND', skipped: 'SKIPPED' } as const;

// What the database says.

async function expectAgreement(model: Model, { jobId }: Real): Promise<void> {
  const { rows } = await client.query<{ places: unknown[]; state: string; fenced: number }>({
    name: 'places',
    text: `
      select state,
        (select coalesce(sum(fenced), 0)::int from ledger l where l.job_id = $1) as fenced,
        (select coalesce(jsonb_agg(place order by seq), '[]') from (
          select i.seq,
            case when r.seq is not null then jsonb_build_object('ended', r.status)
            else jsonb_build_object('phase', s.phase, 'attempt', s.attempt, 'failures', s.failures, 'crashes', s.crashes, 'token', s.token,
                                    'delayed', s.ready_at > now()) end as place
          from items i
          left join results r on r.job_id = $1 and r.seq = i.seq
          left join spans s on s.job_id = $1 and s.items @> i.seq
          where i.job_id = $1) p) as places
      from jobs j where j.job_id = $1`,
    values: [jobId],
  });
  const found = rows[0]!;
  const expected = model.items.map(({ phase, attempt, failures, crashes, token, delayed, ended }) =>
    ended === null ? { phase, attempt, failures, crashes, token, delayed } : { ended },
  );
  expect(found.places, 'where the items are').toEqual(expected);
  expect(found.fenced, 'outcomes that came too late').toBe(model.fenced);
  expect(found.state === 'DONE', `the job is ${found.state}`).toBe(model.finished);
  expect(await checkInvariants(client, jobId), 'invariants').toEqual([]);
}

// The commands. Each says what it does, does it to both, and compares.

/** How often each command ran, and each situation that the run is for was seen after one. */
const seen = new Map<string, number>();

function see(what: string): void {
  seen.set(what, (seen.get(what) ?? 0) + 1);
}

const SITUATIONS: Record<string, (model: Model) => boolean> = {
  'several leases': (model) => model.held.length > 1,
  'a lease of the second phase': (model) => model.held.some((lease) => lease.phase === LAST_PHASE),
  'a retry that waits': (model) => model.items.some((item) => item.delayed),
  'an expired lease': (model) => model.held.some((lease) => lease.expired),
  'an item failed by crashes': (model) =>
    model.items.some((item) => item.ended === 'ERROR' && item.crashes >= MAX_CRASHES),
  'a span with an old and a new token': (model) =>
    model.held.some((lease) => model.dead.some((other) => other.spanId === lease.spanId)),
  'outcomes that came too late': (model) => model.fenced > 0,
  'everything ended, the job not': (model) =>
    model.sealed && !model.finished && model.items.every((item) => item.ended !== null),
  'the end': (model) => model.finished,
};

function seeSituations(model: Model): void {
  for (const [situation, holds] of Object.entries(SITUATIONS)) if (holds(model)) see(situation);
}

class Command implements fc.AsyncCommand<Model, Real> {
  readonly #text: string;
  readonly #canRun: (model: Model) => boolean;
  readonly #run: (model: Model, real: Real) => Promise<void>;

  constructor(
    text: string,
    canRun: (model: Model) => boolean,
    run: (model: Model, real: Real) => Promise<void>,
  ) {
    this.#text = text;
    this.#canRun = canRun;
    this.#run = run;
  }

  check(model: Readonly<Model>): boolean {
    return this.#canRun(model);
  }

  async run(model: Model, real: Real): Promise<void> {
    await this.#run(model, real);
    await expectAgreement(model, real);
    see(this.#text.split('(')[0]!);
    seeSituations(model);
  }

  toString(): string {
    return this.#text;
  }
}

const always = (): boolean => true;
const holdsAny = (model: Model): boolean => model.held.length > 0;
const pick = <T>(list: T[], at: number): T => list[at % list.length]!;

const addSome = (count: number): Command =>
  new Command(`addItems(${count})`, always, async (model, { jobId }) => {
    const items = Array.from({ length: count }, (_, n) => ({ n, text: 'x'.repeat(20) }));
    if (model.sealed) {
      await expect(addItems(context, jobId, items)).rejects.toMatchObject({ code: 'JOB_NOT_INGESTING' });
      return;
    }
    expect(await addItems(context, jobId, items)).toBe(count);
    const fresh = {
      phase: 0,
      attempt: 0,
      failures: '',
      crashes: 0,
      delayed: false,
      token: null,
      ended: null,
    };
    for (let i = 0; i < count; i += 1) model.items.push({ ...fresh });
  });

const seal = (): Command =>
  new Command('seal', always, async (model, { jobId }) => {
    expect(await sealJob(context, jobId)).toBe(model.items.length);
    model.sealed = true;
    lookForEnd(model);
  });

/**
 * Of the phase where something waits, or of the first when nothing does. With a byte bound of 1 only one item comes
 * along, and the worker gives back the others.
 */
const claim = (worker: number, at: number, maxItems: number, maxBytes: number): Command =>
  new Command(`claim(${worker}, ${at}, ${maxItems} items, ${maxBytes} bytes)`, always, (model, real) => {
    const waiting = model.items.filter((item) => isClaimable(item, item.phase));
    const { phase, crashes } = waiting.length === 0 ? { phase: 0, crashes: 0 } : pick(waiting, at);
    return claimFor(model, real, {
      worker: WORKERS[worker]!,
      phase,
      suspects: crashes > 0,
      maxItems,
      maxBytes,
    });
  });

async function claimFor(
  model: Model,
  { jobId }: Real,
  request: { worker: string; phase: number; suspects: boolean; maxItems: number; maxBytes: number },
): Promise<void> {
  const { worker, phase, suspects, maxItems, maxBytes } = request;
  const token = newId();
  const claimed = await claimItems(context.db, {
    jobId,
    phase,
    maxItems,
    maxBytes,
    workerId: worker,
    token,
    leaseMs: 3_600_000,
    suspects,
  });
  const claimable = model.items.filter((item) => isClaimable(item, phase) && item.crashes > 0 === suspects);
  if (claimable.length === 0) {
    expect(claimed, 'a claim where nothing waits').toBeNull();
    return;
  }
  const { spanId, attempt, failures, crashes, generation, items } = claimed!;
  const alike = claimable.filter(
    (item) => item.attempt === attempt && item.failures === failures && item.crashes === crashes,
  );
  // Suspects come span by span, and the model knows no spans.
  if (suspects) expect(claimed!.itemCount).toBeLessThanOrEqual(Math.min(maxItems, alike.length));
  else expect(claimed!.itemCount, 'claimed items').toBe(Math.min(maxItems, alike.length));
  const seqs = items.map((item) => item.seq);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  if (items.length < claimed!.itemCount) {
    expect(items).toHaveLength(1);
    const given = await releaseAllBut(
      context.db,
      { jobId, spanId, token },
      formatRanges(rangesOf(seqs)),
      items.length,
    );
    expect(given).toBe(1);
  } else expect(claimed!.ranges).toEqual(rangesOf(seqs));
  for (const { seq, previous } of items) {
    const item = model.items[seq]!;
    expect(alike, `item ${seq} was claimable`).toContain(item);
    expect(previous === null).toBe(phase === 0);
    item.token = token;
  }
  model.held.push({
    spanId,
    token,
    worker,
    phase,
    attempt,
    failures,
    crashes,
    generation,
    seqs,
    expired: false,
  });
  await startJob(context.db, jobId);
}

interface FlushPlan {
  /** Which lease: its worker flushes all it has of that phase. */
  at: number;
  /** For each item of the worker's leases, round robin: what became of it; null if it still runs. */
  outcomes: (OutcomeName | null)[];
  /** How the worker fares afterwards: it looks for the end, it dies before, or it sends the flush a second time. */
  afterwards: 'finish' | 'die' | 'repeat';
}

const flush = (plan: FlushPlan): Command =>
  new Command(`flush(${JSON.stringify(plan)})`, holdsAny, async (model, real) => {
    const { worker, phase } = pick(model.held, plan.at);
    // A worker that does not know that it lost a lease flushes it together with the others.
    const believed = [...model.held, ...model.dead].filter(
      (lease) => lease.worker === worker && lease.phase === phase,
    );
    const recorded = new Map<ModelLease, Map<number, OutcomeName>>();
    let at = 0;
    for (const lease of believed) {
      const outcomes = new Map<number, OutcomeName>();
      for (const seq of lease.seqs) {
        const outcome = pick(plan.outcomes, at);
        at += 1;
        if (outcome !== null) outcomes.set(seq, inPhase(outcome, phase));
      }
      if (outcomes.size > 0) recorded.set(lease, outcomes);
    }
    if (recorded.size > 0) await flushRecorded(model, real, recorded, plan.afterwards);
  });

const inPhase = (outcome: OutcomeName, phase: number): OutcomeName =>
  outcome === 'advance' && phase === LAST_PHASE ? 'done' : outcome;

async function flushRecorded(
  model: Model,
  { jobId }: Real,
  recorded: Map<ModelLease, Map<number, OutcomeName>>,
  afterwards: FlushPlan['afterwards'],
): Promise<void> {
  const [first] = recorded.keys();
  const batch: FlushBatch = {
    jobId,
    generation: first!.generation,
    phase: first!.phase,
    workerId: first!.worker,
    flushId: newId(),
    leases: [...recorded].map(([{ spanId, token, attempt, failures, crashes }, outcomes]) => ({
      spanId,
      token,
      attempt,
      failures,
      crashes,
      priority: 0,
      outcomes: [...outcomes].map(([seq, outcome]) => recordedOutcome(seq, outcome)),
    })),
  };
  const report = await flushOutcomes(context, batch, false);

  const expected = { recorded: 0, fenced: 0 };
  for (const [lease, outcomes] of recorded) {
    if (!model.held.includes(lease)) {
      expected.fenced += outcomes.size;
      continue;
    }
    expected.recorded += outcomes.size;
    for (const [seq, outcome] of outcomes) applyOutcome(model.items[seq]!, outcome);
    lease.seqs = lease.seqs.filter((seq) => !outcomes.has(seq));
    if (lease.seqs.length === 0) forgetLease(model, lease);
  }
  model.fenced += expected.fenced;
  expect(report).toMatchObject(expected);
  if (expected.recorded > 0 && open(model).length === 0)
    expect(report.mayFinish, 'the flush that left nothing open says so').toBe(true);

  if (afterwards === 'die') return;
  if (afterwards === 'repeat') {
    const again = await flushOutcomes(context, batch, true);
    expect(again).toMatchObject({ recorded: expected.recorded + expected.fenced, fenced: 0 });
  }
  if (!report.mayFinish) return;
  await finishJob(context, jobId);
  lookForEnd(model);
}

function recordedOutcome(seq: number, outcome: OutcomeName): RecordedOutcome {
  const base = { seq, status: 'DONE', json: null, failure: null, delayMs: 0, handlerMs: 1.5 } as const;
  const failure = {
    class: 'overloaded',
    message: `no answer for "${seq}"\t(503)`,
    retryAfterMs: null,
  } as const;
  if (outcome === 'advance') return { ...base, kind: 'advance', json: `{"first":${seq}}` };
  if (outcome === 'retry') return { ...base, kind: 'retry', failure };
  if (outcome === 'retryLater')
    return {
      ...base,
      kind: 'retry',
      failure: { ...failure, class: CLASS_OF.retryLater },
      delayMs: 3_600_000,
    };
  if (outcome === 'done') return { ...base, kind: 'terminal', json: '{"back\\\\slash":"ü"}' };
  return { ...base, kind: 'terminal', status: STATUS_OF[outcome], failure };
}

/** A flush, a renewal and a release with a token that is no longer the lease's: all without effect. */
const zombie = (at: number): Command =>
  new Command(
    `zombie(${at})`,
    (model) => model.dead.length > 0,
    async (model, real) => {
      const lease = pick(model.dead, at);
      const outcomes = lease.seqs.map((seq): [number, OutcomeName] => [seq, inPhase('advance', lease.phase)]);
      expect(await renewLeases(real, [lease]), 'renewed by a zombie').toEqual([]);
      expect(await releaseLease(context.db, real.jobId, lease.token), 'released by a zombie').toBe(0);
      await flushRecorded(model, real, new Map([[lease, new Map(outcomes)]]), 'finish');
    },
  );

/** The second flush of the same item under a new id: the lease is alive, the item is not in it. */
const recordTwice = (at: number): Command =>
  new Command(`recordTwice(${at})`, holdsAny, async (model, real) => {
    const lease = pick(model.held, at);
    const seq = lease.seqs[0]!;
    const outcomes = new Map<number, OutcomeName>([[seq, 'skipped']]);
    await flushRecorded(model, real, new Map([[lease, outcomes]]), 'finish');
    await flushRecorded(model, real, new Map([[{ ...lease, seqs: [seq] }, outcomes]]), 'finish');
  });

async function renewLeases({ jobId }: Real, leases: ModelLease[]): Promise<number[]> {
  const { rows } = await context.db.run<{ span_id: number }>(RENEW_LEASES, [
    jobId,
    leases.map((lease) => lease.spanId),
    leases.map((lease) => lease.token),
    3_600_000,
  ]);
  return rows.map((row) => row.span_id).sort((a, b) => a - b);
}

const renew = (worker: number): Command =>
  new Command(`renew(${worker})`, holdsAny, async (model, real) => {
    const mine = model.held.filter((lease) => lease.worker === WORKERS[worker]);
    const lost = model.dead.filter((lease) => lease.worker === WORKERS[worker]);
    const spanIds = mine.map((lease) => lease.spanId).sort((a, b) => a - b);
    expect(await renewLeases(real, [...lost, ...mine]), 'renewed').toEqual(spanIds);
    for (const lease of mine) lease.expired = false;
  });

const release = (at: number): Command =>
  new Command(`release(${at})`, holdsAny, async (model, { jobId }) => {
    const lease = pick(model.held, at);
    expect(await releaseLease(context.db, jobId, lease.token)).toBe(1);
    for (const seq of lease.seqs) model.items[seq]!.token = null;
    forgetLease(model, lease);
  });

const expire = (at: number): Command =>
  new Command(`expire(${at})`, holdsAny, async (model, { jobId }) => {
    const lease = pick(model.held, at);
    await client.query(
      `update spans set expires_at = now() - interval '1 second' where job_id = $1 and token = $2`,
      [jobId, lease.token],
    );
    lease.expired = true;
  });

const rescue = (): Command =>
  new Command('rescue', holdsAny, async (model) => {
    const before = open(model).length;
    const leases = crashExpired(model);
    expect(await rescueLeases(context)).toEqual({ leases, failedItems: before - open(model).length });
  });

/** Its parent saw it end: all its leases are lost, expired or not. */
const killWorker = (worker: number): Command =>
  new Command(`killWorker(${worker})`, holdsAny, (model) => killAndRescue(model, WORKERS[worker]!));

/** A worker that dies of the one item it took. */
const dieOfOneItem = (worker: number): Command =>
  new Command(
    `dieOfOneItem(${worker})`,
    (model) => model.items.some((item) => isClaimable(item, item.phase)),
    async (model, real) => {
      const { phase, crashes } = model.items.find((item) => isClaimable(item, item.phase))!;
      const bounds = { maxItems: 1, maxBytes: 1_000_000 };
      await claimFor(model, real, { worker: WORKERS[worker]!, phase, suspects: crashes > 0, ...bounds });
      await killAndRescue(model, WORKERS[worker]!);
    },
  );

async function killAndRescue(model: Model, worker: string): Promise<void> {
  const dying = model.held.filter((lease) => lease.worker === worker);
  const before = open(model).length;
  for (const lease of dying) crash(model, lease);
  const failedItems = before - open(model).length;
  if (failedItems > 0) lookForEnd(model);
  expect(await rescueLeases(context, { deadWorkerId: worker })).toEqual({
    leases: dying.length,
    failedItems,
  });
}

const sweepAll = (): Command =>
  new Command('sweep', always, async (model, { jobId }) => {
    await sweep(context);
    crashExpired(model);
    lookForEnd(model);
    expect(await checkInvariants(client, jobId, { afterSweep: true })).toEqual([]);
  });

const fold = (): Command =>
  new Command('foldLedger', always, async (_model, { jobId }) => {
    await foldLedgerOf(context.db, jobId, 0);
    const { rows } = await client.query(
      `select 1 from ledger where job_id = $1 group by generation, phase, date_trunc('minute', at) having count(*) > 1`,
      [jobId],
    );
    expect(rows, 'minutes with more than one row').toEqual([]);
  });

const letRetriesComeDue = (): Command =>
  new Command(
    'letRetriesComeDue',
    (model) => model.items.some((item) => item.delayed),
    async (model, { jobId }) => {
      await client.query('update spans set ready_at = now() where job_id = $1 and ready_at > now()', [jobId]);
      for (const item of model.items) item.delayed = false;
    },
  );

/** Works everything off that the commands left, and looks at the end of it. */
async function drain(model: Model, real: Real, afterwards: 'finish' | 'die'): Promise<void> {
  for (const lease of [...model.held]) {
    const outcomes = lease.seqs.map((seq): [number, OutcomeName] => [seq, inPhase('advance', lease.phase)]);
    await flushRecorded(model, real, new Map([[lease, new Map(outcomes)]]), afterwards);
  }
  if (model.items.some((item) => item.delayed)) await letRetriesComeDue().run(model, real);
  await seal().run(model, real);
  for (let phase = 0; phase <= LAST_PHASE; phase += 1) {
    for (;;) {
      const next = model.items.find((item) => isClaimable(item, phase));
      if (!next) break;
      const bounds = { maxItems: 50, maxBytes: 1_000_000 };
      await claimFor(model, real, { worker: WORKERS[0]!, phase, suspects: next.crashes > 0, ...bounds });
      const lease = model.held[0]!;
      const outcomes = lease.seqs.map((seq): [number, OutcomeName] => [seq, inPhase('advance', phase)]);
      await flushRecorded(model, real, new Map([[lease, new Map(outcomes)]]), afterwards);
    }
  }
  seeSituations(model);
  // Only a worker that died before it looked for the end leaves it to the sweep.
  if (!model.finished) await sweepAll().run(model, real);
  await expectAgreement(model, real);
  const summary = await readSummary(context.db, real.jobId);
  const count = (status: ItemStatus): number => model.items.filter((item) => item.ended === status).length;
  expect(summary).toMatchObject({
    generation: 1,
    outcome: 'DONE',
    total: model.items.length,
    counts: {
      DONE: count('DONE'),
      ERROR: count('ERROR'),
      NOT_FOUND: count('NOT_FOUND'),
      SKIPPED: count('SKIPPED'),
      CANCELLED: 0,
    },
  });
}

const worker = fc.nat({ max: WORKERS.length - 1 });
const anyOne = fc.nat({ max: 20 });
const outcome = fc.constantFrom<(OutcomeName | null)[]>(
  null,
  'advance',
  'advance',
  'done',
  'failed',
  'notFound',
  'skipped',
  'retry',
  'retryLater',
);
const anyClaim = fc
  .tuple(worker, anyOne, fc.constantFrom(1, 1, 2, 3, 5, 9), fc.constantFrom(1, 1_000_000, 1_000_000))
  .map((request) => claim(...request));
const anyFlush = fc
  .record<FlushPlan>({
    at: anyOne,
    outcomes: fc.array(outcome, { minLength: 1, maxLength: 6 }),
    afterwards: fc.constantFrom('finish', 'finish', 'die', 'repeat'),
  })
  .map(flush);
const COMMAND_NAMES = [
  'addItems',
  'seal',
  'claim',
  'flush',
  'expire',
  'rescue',
  'killWorker',
  'dieOfOneItem',
  'renew',
  'release',
  'zombie',
  'recordTwice',
  'sweep',
  'foldLedger',
  'letRetriesComeDue',
];
const weighted: [weight: number, command: fc.Arbitrary<Command>][] = [
  [2, fc.integer({ min: 1, max: 8 }).map(addSome)],
  [1, fc.constant(seal())],
  [12, anyClaim],
  [10, anyFlush],
  [2, anyOne.map(expire)],
  [2, fc.constant(rescue())],
  [3, worker.map(killWorker)],
  [5, worker.map(dieOfOneItem)],
  [1, worker.map(renew)],
  [2, anyOne.map(release)],
  [2, anyOne.map(zombie)],
  [1, anyOne.map(recordTwice)],
  [1, fc.constant(sweepAll())],
  [1, fc.constant(fold())],
  [2, fc.constant(letRetriesComeDue())],
];
const commands = weighted.flatMap(([weight, command]) => Array.from({ length: weight }, () => command));

test('a job is always where its model is, whatever its workers do, and ends with the summary of the model', async () => {
  const { FC_SEED, FC_PATH, FC_REPLAY_PATH, FC_RUNS } = process.env;
  const seed = FC_SEED === undefined ? (Date.now() ^ process.pid) | 0 : Number(FC_SEED);
  console.log(`model run: FC_SEED=${seed}${FC_PATH === undefined ? '' : ` FC_PATH=${FC_PATH}`}`);
  let ran = 0;
  const anyCommands = fc.commands(commands, {
    maxCommands: MAX_COMMANDS,
    size: 'max',
    ...(FC_REPLAY_PATH === undefined ? {} : { replayPath: FC_REPLAY_PATH }),
  });
  const property = fc.asyncProperty(
    fc.nat({ max: FIRST_ITEMS }),
    anyCommands,
    fc.constantFrom('finish' as const, 'die' as const),
    async (first, drawn, lastWorker) => {
      // What a failed run left would be rescued and swept in the next one.
      await client.query('delete from spans; delete from jobs');
      const { jobId } = await createJob(context, { pipeline: 'modelled', phases: ['first', 'second'] });
      const model: Model = { items: [], sealed: false, finished: false, held: [], dead: [], fenced: 0 };
      const real: Real = { context, client, jobId };
      if (first > 0) await addSome(first).run(model, real);
      await fc.asyncModelRun(() => ({ model, real }), drawn);
      await drain(model, real, lastWorker);
      ran += 1;
    },
  );
  await fc.assert(property, {
    seed,
    numRuns: FC_RUNS === undefined ? RUNS : Number(FC_RUNS),
    ...(FC_PATH === undefined ? {} : { path: FC_PATH }),
  });
  console.log(`model run: ${ran} jobs; ${[...seen].map(([what, times]) => `${what} ${times}`).join(', ')}`);
  // A run that never came to what it is for has shown nothing.
  if (ran >= RUNS)
    expect([...seen.keys()]).toEqual(expect.arrayContaining([...COMMAND_NAMES, ...Object.keys(SITUATIONS)]));
});

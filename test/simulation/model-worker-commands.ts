// Commands of the model-based run for workers and the sweep: they claim, record, stall, die and return too late.
import { expect } from 'vitest';
import { formatRanges, rangesOf } from '../../src/core/items/seq-ranges.ts';
import {
  type FlushBatch,
  flushOutcomes,
  type RecordedOutcome,
} from '../../src/engine/flush/flush-outcomes.ts';
import { rescueLeases } from '../../src/engine/flush/rescue-leases.ts';
import { addItems } from '../../src/engine/items/add-items.ts';
import { finalizeIfComplete } from '../../src/engine/jobs/finalize-if-complete.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { sweep } from '../../src/engine/services/sweeper.ts';
import { newId } from '../../src/platform/random.ts';
import { startJob } from '../../src/store/commands/jobs/start-job.ts';
import { foldLedgerOf } from '../../src/store/commands/results/fold-ledger.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { releaseAllBut, releaseSpan } from '../../src/store/commands/spans/release-items.ts';
import { RENEW_LEASES } from '../../src/store/commands/spans/renew-leases.ts';
import { emittedChild } from '../../src/worker/run/emitted-child.ts';
import { checkInvariants } from '../support/invariants.ts';
import { always, Command, holdsAny, pick, type Real, WORKERS } from './model-command.ts';
import { applyCounted, contributionsOf } from './model-counters.ts';
import {
  addChildren,
  addItem,
  applyOutcome,
  cancelRest,
  canTakeEnding,
  claimablePlaces,
  crashExpired,
  crashLeases,
  finalize,
  finish,
  forgetLease,
  isFinished,
  LAST_PHASE,
  type Model,
  type ModelLease,
  openSeqs,
  type Place,
  takesItems,
  type WantedChild,
  wordOf,
} from './model-job.ts';

export const addSome = (count: number): Command =>
  new Command(
    `addItems(${count})`,
    (model) => count === 1 || !isFinished(model),
    async (model, { context, jobId }) => {
      const first = model.items.length;
      const items = Array.from({ length: count }, (_, n) => ({
        n,
        text: 'x'.repeat(20),
        word: `w${first + n}`,
      }));
      if (!takesItems(model)) {
        await expect(addItems(context, jobId, items)).rejects.toMatchObject({ code: 'JOB_NOT_INGESTING' });
        return;
      }
      expect(await addItems(context, jobId, items)).toBe(count);
      for (const { word } of items) addItem(model, word);
    },
  );

export const seal = (at = 0): Command =>
  new Command(
    `seal(${at})`,
    (model) => at % 5 === 0 || !model.sealed,
    async (model, { context, jobId }) => {
      if (!model.sealed && !takesItems(model)) {
        await expect(sealJob(context, jobId)).rejects.toMatchObject({ code: 'JOB_NOT_INGESTING' });
        return;
      }
      expect(await sealJob(context, jobId)).toBe(model.items.length);
      model.sealed = true;
      if (model.state === 'INGESTING') model.state = model.started ? 'RUNNING' : 'QUEUED';
      finish(model);
    },
  );

// Claims.

interface ClaimPlan {
  worker: string;
  phase: number;
  suspects: boolean;
  maxItems: number;
  maxBytes: number;
}

/**
 * Claims from the phase of a waiting item, or from the first phase if none waits. With a byte bound of 1 only one item
 * is returned, and the worker returns the others.
 */
export const claim = (worker: number, at: number, maxItems: number, maxBytes: number): Command =>
  new Command(
    `claim(${worker}, ${at}, ${maxItems} items, ${maxBytes} bytes)`,
    (model) => at % 10 === 0 || claimablePlaces(model).length > 0,
    (model, real) =>
      claimFor(model, real, { ...claimAt(model, at), worker: WORKERS[worker]!, maxItems, maxBytes }),
  );

/** A worker that does not know of edits, or assumes edits that do not exist, gets nothing. */
export const claimUnaware = (at: number): Command =>
  new Command(
    `claimUnaware(${at})`,
    (model) => model.hasEdits || at % 4 === 0,
    async (model, { context, jobId }) => {
      const bounds = { maxItems: 5, maxBytes: 1_000_000, leaseMs: 3_600_000 };
      const request = { ...claimAt(model, at), ...bounds, jobId, workerId: newId(), token: newId() };
      expect(await claimItems(context.db, { ...request, hasEdits: !model.hasEdits })).toBeNull();
    },
  );

function claimAt(model: Model, at: number): { phase: number; suspects: boolean } {
  const waiting = claimablePlaces(model);
  const { phase, crashes } = waiting.length === 0 ? { phase: 0, crashes: 0 } : pick(waiting, at);
  return { phase, suspects: crashes > 0 };
}

export async function claimFor(model: Model, { context, jobId }: Real, plan: ClaimPlan): Promise<void> {
  const { worker, phase, suspects, maxItems, maxBytes } = plan;
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
    hasEdits: model.hasEdits,
  });
  const claimable = claimablePlaces(model).filter(
    (place) => place.phase === phase && place.crashes > 0 === suspects,
  );
  if (claimable.length === 0) {
    expect(claimed, 'a claim where nothing waits').toBeNull();
    return;
  }
  const { spanId, attempt, failures, crashes, priority, generation, items } = claimed!;
  expect(priority, 'the highest priority first').toBe(Math.max(...claimable.map((place) => place.priority)));
  const isAlike = (place: Place): boolean =>
    place.generation === generation &&
    place.attempt === attempt &&
    place.failures === failures &&
    place.crashes === crashes &&
    place.priority === priority;
  const alike = claimable.filter(isAlike);
  // Suspects are claimed span by span, and the model has no spans.
  if (suspects) expect(claimed!.itemCount).toBeLessThanOrEqual(Math.min(maxItems, alike.length));
  else expect(claimed!.itemCount, 'claimed items').toBe(Math.min(maxItems, alike.length));
  const seqs = items.map((item) => item.seq);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
  if (items.length < claimed!.itemCount) {
    expect(items).toHaveLength(1);
    const lease = { jobId, spanId, token };
    expect(await releaseAllBut(context.db, lease, formatRanges(rangesOf(seqs)), items.length)).toBe(1);
  } else expect(claimed!.ranges).toEqual(rangesOf(seqs));
  for (const { seq, input, previous } of items) {
    const item = model.items[seq]!;
    expect(alike, `item ${seq} was claimable`).toContain(item.place);
    expect((JSON.parse(input) as { word: string }).word, 'the input').toBe(wordOf(item));
    const output = phase === 0 ? null : JSON.parse(item.outputs.at(-1)!.json);
    expect(previous && JSON.parse(previous), 'the output of the phase before').toEqual(output);
    item.place!.token = token;
  }
  model.held.push({
    spanId,
    token,
    worker,
    phase,
    attempt,
    failures,
    crashes,
    priority,
    generation,
    seqs,
    expired: false,
  });
  await startJob(context.db, jobId);
  model.started = true;
  if (model.state === 'QUEUED') model.state = 'RUNNING';
}

// Flushes.

export type OutcomeName =
  | 'done'
  | 'failed'
  | 'refused'
  | 'notFound'
  | 'skipped'
  | 'retry'
  | 'retryLater'
  | 'advance';

/** Keys and priorities of the items that one call emits. */
export type Emits = { key: number; priority: number }[];

export interface FlushPlan {
  /** Selects the lease; its worker flushes all its outcomes of that phase. */
  at: number;
  /** For each item of the worker's leases, round robin: its outcome; null if it still runs. */
  outcomes: (OutcomeName | null)[];
  /** For each completed item, round robin: the items it emitted. */
  emits: Emits[];
  /** The worker's next action: it checks for the end of the job, dies before that, or sends the flush a second time. */
  afterwards: 'finish' | 'die' | 'repeat';
}

/** Outcomes of the items of one lease, by their seq. */
type Recorded = Map<ModelLease, RecordedOutcome[]>;

export const flush = (plan: FlushPlan): Command =>
  new Command(`flush(${JSON.stringify(plan)})`, holdsAny, async (model, real) => {
    const { worker, phase, generation } = pick(model.held, plan.at);
    // A worker that does not know that it lost a lease flushes it together with the others.
    const believed = [...model.held, ...model.dead].filter(
      (lease) => lease.worker === worker && lease.phase === phase && lease.generation === generation,
    );
    const recorded = recordAll(model, believed, plan);
    if (recorded.size > 0) await flushRecorded(model, real, recorded, plan.afterwards);
  });

export function recordAll(
  model: Model,
  leases: ModelLease[],
  { outcomes, emits }: Pick<FlushPlan, 'outcomes' | 'emits'>,
): Recorded {
  const recorded: Recorded = new Map();
  let at = 0;
  for (const lease of leases) {
    const list: RecordedOutcome[] = [];
    for (const seq of lease.seqs) {
      const name = pick(outcomes, at);
      if (name !== null) list.push(outcomeOf(model, lease, seq, name, pick(emits, at)));
      at += 1;
    }
    if (list.length > 0) recorded.set(lease, list);
  }
  return recorded;
}

function outcomeOf(
  model: Model,
  { phase, generation }: ModelLease,
  seq: number,
  name: OutcomeName,
  emits: Emits = [],
): RecordedOutcome {
  const item = model.items[seq]!;
  const base = { seq, status: 'DONE', json: null, failure: null, delayMs: 0, handlerMs: 1.5 } as const;
  const message = `no answer for "${seq}"\t(503)`;
  const failure = { class: 'overloaded', message, retryAfterMs: null } as const;
  const children = emits.map(({ key, priority }) =>
    emittedChild(`k${key}`, { n: key, word: `k${key} of ${seq}` }, priority),
  );
  const counted = contributionsOf(seq, phase, generation);
  const emitting = { counted, ...(children.length > 0 && { children }) };
  if (name === 'advance' && phase < LAST_PHASE)
    return { ...base, ...emitting, kind: 'advance', json: JSON.stringify({ first: wordOf(item) }) };
  if (name === 'advance' || name === 'done')
    return { ...base, ...emitting, kind: 'terminal', json: `{"back\\\\slash":"ü${wordOf(item)}"}` };
  if (name === 'retry') return { ...base, kind: 'retry', failure };
  if (name === 'retryLater')
    return { ...base, kind: 'retry', failure: { ...failure, class: 'throttled' }, delayMs: 3_600_000 };
  if (name === 'skipped')
    return { ...base, counted, kind: 'terminal', status: 'SKIPPED', json: '{"reason":"too old"}' };
  const terminal = { ...base, kind: 'terminal' } as const;
  if (name === 'notFound')
    return { ...terminal, status: 'NOT_FOUND', failure: { ...failure, class: 'not_found' } };
  return {
    ...terminal,
    status: 'ERROR',
    failure: name === 'refused' ? { ...failure, class: 'permanent' } : failure,
  };
}

export async function flushRecorded(
  model: Model,
  { context, jobId }: Real,
  recorded: Recorded,
  afterwards: FlushPlan['afterwards'],
): Promise<void> {
  const [first] = recorded.keys();
  const { generation, phase, worker } = first!;
  const batch: FlushBatch = {
    jobId,
    generation,
    phase,
    workerId: worker,
    flushId: newId(),
    leases: [...recorded].map(([{ spanId, token, attempt, failures, crashes, priority }, outcomes]) => ({
      spanId,
      token,
      attempt,
      failures,
      crashes,
      priority,
      outcomes,
    })),
  };
  const report = await flushOutcomes(context, batch, false);

  const expected = { recorded: 0, fenced: 0 };
  const children: WantedChild[] = [];
  const held = [...recorded].flatMap(([lease, outcomes]) => (model.held.includes(lease) ? outcomes : []));
  applyCounted(model, first!, held);
  for (const [lease, outcomes] of recorded) {
    if (!model.held.includes(lease)) {
      expected.fenced += outcomes.length;
      continue;
    }
    expected.recorded += outcomes.length;
    for (const outcome of outcomes) {
      applyOutcome(model, lease, outcome);
      for (const { key, json, priority } of outcome.children ?? []) {
        const { word } = JSON.parse(json) as { word: string };
        children.push({ key, word, priority, parentSeq: outcome.seq });
      }
    }
    const ended = new Set(outcomes.map(({ seq }) => seq));
    lease.seqs = lease.seqs.filter((seq) => !ended.has(seq));
    if (lease.seqs.length === 0) forgetLease(model, lease);
  }
  addChildren(model, generation, children);
  model.fenced += expected.fenced;
  expect(report).toMatchObject(expected);
  if (expected.recorded > 0 && openSeqs(model).length === 0)
    expect(report.mayFinish, 'the last flush returns that nothing is open').toBe(true);

  if (afterwards === 'die') return;
  if (afterwards === 'repeat') {
    const again = await flushOutcomes(context, batch, true);
    expect(again).toMatchObject({ recorded: expected.recorded + expected.fenced, fenced: 0 });
  }
  if (!report.mayFinish) return;
  await finalizeIfComplete(context, jobId);
  finish(model);
}

// Lost tokens.

/** A flush, a renewal and a release with an outdated token: all without effect. */
export const zombie = (at: number): Command =>
  new Command(
    `zombie(${at})`,
    (model) => model.dead.length > 0,
    async (model, real) => {
      const lease = pick(model.dead, at);
      const emits = [[{ key: at, priority: 0 }]];
      expect(await renewLeases(real, [lease]), 'renewed by a zombie').toEqual([]);
      expect(await releaseSpan(real.context.db, real.jobId, lease.token), 'released by a zombie').toBe(0);
      const recorded = recordAll(model, [lease], { outcomes: ['advance'], emits });
      await flushRecorded(model, real, recorded, 'finish');
    },
  );

/** The second flush of the same item under a new id: the lease is alive, but no longer contains the item. */
export const recordTwice = (at: number): Command =>
  new Command(`recordTwice(${at})`, holdsAny, async (model, real) => {
    const lease = pick(model.held, at);
    const outcome = outcomeOf(model, lease, lease.seqs[0]!, 'skipped');
    await flushRecorded(model, real, new Map([[lease, [outcome]]]), 'finish');
    await flushRecorded(model, real, new Map([[{ ...lease, seqs: [outcome.seq] }, [outcome]]]), 'finish');
  });

async function renewLeases({ context, jobId }: Real, leases: ModelLease[]): Promise<number[]> {
  const { rows } = await context.db.run<{ span_id: number }>(RENEW_LEASES, [
    jobId,
    leases.map((lease) => lease.spanId),
    leases.map((lease) => lease.token),
    3_600_000,
  ]);
  return rows.map((row) => row.span_id).sort((a, b) => a - b);
}

export const renew = (worker: number): Command =>
  new Command(`renew(${worker})`, holdsAny, async (model, real) => {
    const mine = model.held.filter((lease) => lease.worker === WORKERS[worker]);
    const lost = model.dead.filter((lease) => lease.worker === WORKERS[worker]);
    const spanIds = mine.map((lease) => lease.spanId).sort((a, b) => a - b);
    expect(await renewLeases(real, [...lost, ...mine]), 'renewed').toEqual(spanIds);
    for (const lease of mine) lease.expired = false;
  });

export const release = (at: number): Command =>
  new Command(`release(${at})`, holdsAny, async (model, { context, jobId }) => {
    const lease = pick(model.held, at);
    expect(await releaseSpan(context.db, jobId, lease.token)).toBe(1);
    for (const seq of lease.seqs) model.items[seq]!.place!.token = null;
    forgetLease(model, lease);
  });

// Deaths and rescues.

export const expire = (at: number): Command =>
  new Command(`expire(${at})`, holdsAny, async (model, { client, jobId }) => {
    const lease = pick(model.held, at);
    await client.query(
      `update spans set expires_at = now() - interval '1 second' where job_id = $1 and token = $2`,
      [jobId, lease.token],
    );
    lease.expired = true;
  });

export const rescue = (ofJob: boolean): Command =>
  new Command(`rescue(${ofJob ? 'of the job' : 'of all'})`, holdsAny, async (model, { context, jobId }) => {
    const rescued = await rescueLeases(context, ofJob ? { expiredOfJobId: jobId } : 'expired');
    expect(rescued).toEqual(crashExpired(model));
  });

/** Its parent saw it exit: all its leases are lost, expired or not. */
export const killWorker = (worker: number): Command =>
  new Command(`killWorker(${worker})`, holdsAny, (model, real) =>
    killAndRescue(model, real, WORKERS[worker]!),
  );

/** A worker that dies because of the one item it claimed. */
export const dieOfOneItem = (worker: number): Command =>
  new Command(
    `dieOfOneItem(${worker})`,
    (model) => claimablePlaces(model).length > 0,
    async (model, real) => {
      const bounds = { maxItems: 1, maxBytes: 1_000_000 };
      await claimFor(model, real, { ...claimAt(model, 0), worker: WORKERS[worker]!, ...bounds });
      await killAndRescue(model, real, WORKERS[worker]!);
    },
  );

async function killAndRescue(model: Model, { context }: Real, worker: string): Promise<void> {
  const dying = model.held.filter((lease) => lease.worker === worker);
  const failedItems = crashLeases(model, dying);
  expect(await rescueLeases(context, { deadWorkerId: worker })).toEqual({
    leases: dying.length,
    failedItems,
  });
}

export const sweepAll = (): Command =>
  new Command('sweep', always, async (model, { context, client, jobId }) => {
    await sweep(context);
    const isEnding = canTakeEnding(model);
    crashExpired(model);
    if (model.state === 'CANCELLING') cancelRest(model);
    if (isEnding) finalize(model);
    finish(model);
    expect(await checkInvariants(client, jobId, { afterSweep: true })).toEqual([]);
  });

export const fold = (): Command =>
  new Command('foldLedger', always, async (_model, { context, client, jobId }) => {
    await foldLedgerOf(context.db, jobId, 0);
    const { rows } = await client.query(
      `select 1 from ledger where job_id = $1 group by generation, phase, date_trunc('minute', at) having count(*) > 1`,
      [jobId],
    );
    expect(rows, 'minutes with more than one row').toEqual([]);
  });

export const letRetriesComeDue = (): Command =>
  new Command(
    'letRetriesComeDue',
    (model) => model.items.some(({ place }) => place?.delayed),
    async (model, { client, jobId }) => {
      await client.query(
        `update spans set ready_at = now() where job_id = $1 and ready_at > now() and ready_at < 'infinity'`,
        [jobId],
      );
      for (const { place } of model.items) if (place) place.delayed = false;
    },
  );

/** Completes all claimable items, alone. */
export async function workOffClaimable(
  model: Model,
  real: Real,
  plan: Pick<FlushPlan, 'outcomes' | 'emits' | 'afterwards'>,
): Promise<void> {
  for (const lease of [...model.held]) {
    const recorded = recordAll(model, [lease], plan);
    if (recorded.size > 0) await flushRecorded(model, real, recorded, plan.afterwards);
  }
  while (!isFinished(model) && claimablePlaces(model).length > 0) {
    const bounds = { maxItems: 50, maxBytes: 1_000_000 };
    await claimFor(model, real, { ...claimAt(model, 0), worker: WORKERS[0]!, ...bounds });
    await flushRecorded(model, real, recordAll(model, [model.held.at(-1)!], plan), plan.afterwards);
  }
}

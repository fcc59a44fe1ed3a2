// Commands of the model-based run for the owner of a job, the steps of a finalization, and processes that die between
// two of them.
import { expect } from 'vitest';
import type { ItemStatus } from '../../src/core/items/outcome.ts';
import { rangesOf } from '../../src/core/items/seq-ranges.ts';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { finalizeJob } from '../../src/engine/jobs/finalize-job.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { type ReprocessRequest, reprocessJob } from '../../src/engine/reprocess/reprocess-job.ts';
import { beginCancelling as beginCancellingRow } from '../../src/store/commands/jobs/begin-cancelling.ts';
import { beginFinalizing as beginFinalizingRow } from '../../src/store/commands/jobs/begin-finalizing.ts';
import { openGeneration } from '../../src/store/commands/jobs/open-generation.ts';
import { cancelItems } from '../../src/store/commands/spans/cancel-items.ts';
import { HaltedCall } from './halted-call.ts';
import { Command, pick, see } from './model-command.ts';
import {
  beginCancelling,
  beginFinalizing,
  cancelRest,
  cancelSeqs,
  canReprocess,
  canTakeEnding,
  end,
  finalize,
  isFinished,
  type Model,
  openSeqs,
  PHASES,
  pause,
  reprocess,
  resume,
} from './model-job.ts';
import { workOffClaimable } from './model-worker-commands.ts';

/** Actions on a finished job are always refused, so most are skipped. */
const isSeldomOver =
  (at: number) =>
  (model: Model): boolean =>
    at % 5 === 0 || !isFinished(model);

export const pauseIt = (at = 0): Command =>
  new Command(`pause(${at})`, isSeldomOver(at), async (model, { context, jobId }) => {
    const paused = pause(model);
    if (paused === null)
      await expect(pauseJob(context, jobId)).rejects.toMatchObject({ code: 'JOB_CONFLICT' });
    else expect(await pauseJob(context, jobId)).toBe(paused);
  });

/** The last items complete while the job is paused: only the resume finishes the job. */
export const pauseAtLast = (): Command =>
  new Command(
    'pauseAtLast',
    (model) =>
      pause({ ...model }) === true &&
      openSeqs(model).length > 0 &&
      model.items.every(({ place }) => !place || place.token),
    async (model, real) => {
      await pauseIt().run(model, real);
      await workOffClaimable(model, real, { outcomes: ['done'], emits: [], afterwards: 'finish' });
    },
  );

export const resumeIt = (at = 0): Command =>
  new Command(`resume(${at})`, isSeldomOver(at), async (model, { context, jobId }) => {
    const resumed = resume(model);
    if (resumed === null)
      await expect(resumeJob(context, jobId)).rejects.toMatchObject({ code: 'JOB_CONFLICT' });
    else expect(await resumeJob(context, jobId)).toEqual(resumed);
    if (resumed && resumed.released > 0) see('the release of a trial');
  });

// Cancelling, in one call and in steps.

export const cancelIt = (at = 0): Command =>
  new Command(`cancel(${at})`, isSeldomOver(at), async (model, { context, jobId }) => {
    if (isFinished(model) && !model.cancelled) {
      await expect(cancelJob(context, jobId)).rejects.toMatchObject({ code: 'JOB_CONFLICT' });
      return;
    }
    expect(await cancelJob(context, jobId)).toBe(beginCancelling(model));
    cancelRest(model);
  });

/** A canceller that dies after its first statement. */
export const beginCancel = (at = 0): Command =>
  new Command(`beginCancel(${at})`, isSeldomOver(at), async (model, { context, jobId }) => {
    expect(await beginCancellingRow(context.db, jobId)).toBe(beginCancelling(model));
  });

/** The same during the writing of the files. */
export const cancelEnding = (): Command =>
  new Command(
    'cancelEnding',
    ({ state, cancelled }) => state === 'FINALIZING' && !cancelled,
    (model, real) => beginCancel().run(model, real),
  );

/** One more step of a cancellation: up to `count` items, span by span; only the database knows which. */
export const cancelSome = (count: number): Command =>
  new Command(
    `cancelSome(${count})`,
    (model) => model.state === 'CANCELLING' || count === 1,
    async (model, { context, client, jobId }) => {
      const open = openSeqs(model);
      const cancelled = await cancelItems(context.db, jobId, count);
      if (model.state !== 'CANCELLING') {
        expect(cancelled).toBe(0);
        return;
      }
      expect(cancelled).toBe(Math.min(count, open.length));
      const { rows } = await client.query<{ seq: number }>(
        `select seq::int from unnest($2::bigint[]) seq
         where not exists (select from spans s where s.job_id = $1 and s.items @> seq)`,
        [jobId, open],
      );
      expect(rows).toHaveLength(cancelled);
      cancelSeqs(
        model,
        rows.map(({ seq }) => seq),
      );
    },
  );

// Finalizing, step by step.

/** A process that dies right after it moved the job to FINALIZING. */
export const beginEnd = (): Command =>
  new Command(
    'beginEnd',
    (model) => openSeqs(model).length === 0,
    async (model, { context, jobId }) => {
      expect(await beginFinalizingRow(context.db, jobId)).toBe(beginFinalizing(model));
    },
  );

/** The halt is before the files are written, or while they are. */
export type HaltAt = 'claim-finalize' | 'read-job';

/** A finalizer that claims the finalize lease and halts. */
export const takeEnding = (haltAt: HaltAt): Command =>
  new Command(
    `takeEnding(${haltAt})`,
    ({ state }) => state === 'FINALIZING',
    async (model, real) => {
      const call = await HaltedCall.start(real.context, haltAt, (context) =>
        finalizeJob(context, real.jobId),
      );
      if (!canTakeEnding(model)) {
        // It halted after another finalizer was found, or has returned.
        expect(await call.goOn()).toBe(false);
        return;
      }
      expect(call.isHalted).toBe(true);
      const id = real.endings.size;
      real.endings.set(id, call);
      model.endings.push({ id, generation: model.generation });
      if (model.ending !== null) see('the takeover of an ending');
      model.ending = { id, expired: false };
    },
  );

export const expireEnding = (): Command =>
  new Command(
    'expireEnding',
    ({ state, ending }) => state === 'FINALIZING' && ending !== null,
    async (model, { client, jobId }) => {
      await client.query(
        `update jobs set finalize_expires_at = now() - interval '1 second' where job_id = $1 and finalize_token is not null`,
        [jobId],
      );
      model.ending!.expired = true;
    },
  );

/** Only the holder of the finalize lease finishes the job, and only its own generation. */
export const goOnEnding = (at: number): Command =>
  new Command(
    `goOnEnding(${at})`,
    ({ endings }) => endings.length > 0,
    async (model, real) => {
      const { id } = pick(model.endings, at);
      forgetEnding(model, id);
      const holds = model.state === 'FINALIZING' && model.ending?.id === id;
      see(holds ? 'an ending by its holder' : 'an ending that was fenced');
      expect(await real.endings.get(id)!.goOn()).toBe(holds);
      if (holds) end(model);
    },
  );

export const dieEnding = (at: number): Command =>
  new Command(
    `dieEnding(${at})`,
    ({ endings }) => endings.length > 0,
    async (model, real) => {
      const { id } = pick(model.endings, at);
      forgetEnding(model, id);
      await real.endings.get(id)!.die();
    },
  );

function forgetEnding(model: Model, id: number): void {
  model.endings = model.endings.filter((each) => each.id !== id);
}

// Reprocessing.

export interface ReprocessPlan {
  statuses: ItemStatus[] | 'all' | null;
  /** Numbers that select items, round robin. */
  seqs: number[] | null;
  edits: number[];
  includePermanent: boolean;
  maxAttempts: number | null;
  from: string | null;
  /** A second click, on an earlier generation. */
  isLate: boolean;
}

function requestOf(plan: ReprocessPlan, model: Model): ReprocessRequest {
  const { length } = model.items;
  const seqsOf = (picks: number[]): number[] =>
    length === 0 ? [] : [...new Set(picks.map((at) => at % length))];
  const edits = seqsOf(plan.edits).map((seq) => ({
    seq,
    input: { n: seq, word: `w${seq} of generation ${model.generation + 1}` },
  }));
  return {
    ...(plan.statuses !== null && { statuses: plan.statuses }),
    ...(plan.seqs !== null && { seqs: rangesOf(seqsOf(plan.seqs)) }),
    ...(edits.length > 0 && { edits }),
    ...(plan.includePermanent && { includePermanent: true }),
    ...(plan.maxAttempts !== null && { maxAttempts: plan.maxAttempts }),
    ...(plan.from !== null && { from: plan.from }),
    ...(plan.isLate && { ifGeneration: model.generation - 1 }),
  };
}

/** A client that assumes the job is finished: no generation is opened before the summary exists. */
export const openTooEarly = (): Command =>
  new Command(
    'openTooEarly',
    (model) => !isFinished(model),
    async (model, { context, jobId }) => {
      const { generation } = model;
      expect(await openGeneration(context.db, { jobId, generation, state: 'DONE' }, null)).toBe(false);
    },
  );

const IMPATIENT_MS = 25;

export const reprocessIt = (plan: ReprocessPlan): Command =>
  new Command(
    `reprocess(${JSON.stringify(plan)})`,
    (model) => canReprocess(model) || model.state === 'FINALIZING' || plan.isLate,
    async (model, { context, jobId }) => {
      const request = requestOf(plan, model);
      if (model.state === 'FINALIZING' && finalize(model)) see('a reprocess that ends the job first');
      // A finalizer holds the lease, or items are running.
      const impatient = {
        ...context,
        settings: { ...context.settings, reprocessWaitMs: IMPATIENT_MS },
      };
      await reprocessAndCompare(model, request, (expected) =>
        reprocessJob(expected === 'JOB_CONFLICT' ? impatient : context, jobId, request),
      );
    },
  );

/** A reprocess that waits for a running finalizer, until that one has finished. */
export const reprocessWhileEnding = (plan: ReprocessPlan): Command =>
  new Command(
    `reprocessWhileEnding(${JSON.stringify(plan)})`,
    ({ state, ending, endings }) =>
      state === 'FINALIZING' && ending?.expired === false && endings.some(({ id }) => id === ending.id),
    async (model, real) => {
      const { id } = model.ending!;
      const { context, jobId, endings } = real;
      const request = requestOf(plan, model);
      const waiting = await HaltedCall.start(context, 'claim-finalize', (halting) =>
        reprocessJob(halting, jobId, request),
      );
      expect(waiting.isHalted, 'it tried to finalize').toBe(true);
      forgetEnding(model, id);
      expect(await endings.get(id)!.goOn()).toBe(true);
      end(model);
      await reprocessAndCompare(model, request, () => waiting.goOn());
    },
  );

async function reprocessAndCompare(
  model: Model,
  request: ReprocessRequest,
  call: (expected: string | null) => Promise<unknown>,
): Promise<void> {
  const isRefused =
    !canReprocess(model) ||
    (request.ifGeneration !== undefined && request.ifGeneration !== model.generation) ||
    // Unfinished rows cannot be edited.
    request.edits?.some(({ seq }) => model.items[seq]!.place !== null) === true;
  const wasCancelled = model.cancelled;
  const wasPaused = model.state === 'PAUSED';
  const opened = isRefused ? null : reprocess(model, request);
  if (opened === null) {
    const code = isRefused ? 'JOB_CONFLICT' : 'NOTHING_TO_REPROCESS';
    await expect(call(code)).rejects.toMatchObject({ code });
    see(isRefused ? 'a reprocess that was refused' : 'a reprocess of nothing');
    return;
  }
  expect(await call(null)).toEqual(opened);
  see('a generation that was opened');
  if (wasCancelled) see('a reprocess of a cancelled job');
  if (wasPaused) see('a reprocess of a paused job');
  if (request.edits) see(opened.selected > request.edits.length ? 'edits and other items' : 'edits alone');
  if (opened.leftOut.permanent > 0) see('permanent failures left out');
  if (opened.leftOut.exhausted > 0) see('exhausted items left out');
  if (request.from === PHASES[1]) see('a reprocess from the second phase');
}

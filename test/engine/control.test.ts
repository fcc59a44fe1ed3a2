// Control actions on a job without workers: the statements against the table of states, and the effects of each
// action.
import { describe, expect, test } from 'vitest';
import {
  type ControlAction,
  canControl,
  FINISHED_STATES,
  JOB_STATES,
  type JobState,
  TRANSITIONS,
  type Transition,
} from '../../src/core/jobs/job-state.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { flushOutcomes } from '../../src/engine/flush/flush-outcomes.ts';
import { addItems } from '../../src/engine/items/add-items.ts';
import { cancelJob, cancelRest } from '../../src/engine/jobs/cancel-job.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { finalizeJob } from '../../src/engine/jobs/finalize-job.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { reprocessJob } from '../../src/engine/reprocess/reprocess-job.ts';
import { sweep } from '../../src/engine/services/sweeper.ts';
import type { Executor } from '../../src/platform/database.ts';
import { newId } from '../../src/platform/random.ts';
import { beginCancelling } from '../../src/store/commands/jobs/begin-cancelling.ts';
import { beginFinalizing } from '../../src/store/commands/jobs/begin-finalizing.ts';
import { failIngest } from '../../src/store/commands/jobs/fail-ingest.ts';
import { claimFinalize, finishJobRow } from '../../src/store/commands/jobs/finalize-lease.ts';
import { openGeneration } from '../../src/store/commands/jobs/open-generation.ts';
import { pauseAtBudget, pauseJobRow, resumeJobRow } from '../../src/store/commands/jobs/pause-job.ts';
import { sealJobRow } from '../../src/store/commands/jobs/seal-job.ts';
import { startJob } from '../../src/store/commands/jobs/start-job.ts';
import { cancelItems } from '../../src/store/commands/spans/cancel-items.ts';
import { type ClaimedSpan, claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { releaseUnstarted } from '../../src/store/commands/spans/release-unstarted.ts';
import { readJob } from '../../src/store/views/jobs/read-job.ts';
import { readProgressOf } from '../../src/store/views/jobs/read-live-progress.ts';
import { readProgress, readSummary } from '../../src/store/views/jobs/read-progress.ts';
import { findClaimable } from '../../src/store/views/spans/find-claimable.ts';
import { Lease } from '../../src/worker/leases/lease.ts';
import { obeyControl } from '../../src/worker/process/obey-control.ts';
import { doneOutcome } from '../simulation/seed-job.ts';
import { checkInvariants } from '../support/invariants.ts';
import { claimRequest, claimWhole, jobWithItems, replaceSpans } from '../support/job-factory.ts';
import { NO_HOLDER } from '../support/lease-holder.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

const stateOf = async (context: EngineContext, jobId: string): Promise<JobState> =>
  (await readJob(context.db, jobId))!.state;

const violations = (jobId: string): Promise<string[]> =>
  checkInvariants(
    {
      query: async (query: { text: string }) => ({ rows: await database.query(query.text, [jobId]) }),
    } as never,
    jobId,
    {
      afterSweep: true,
    },
  );

const isFound = async (context: EngineContext, jobId: string): Promise<boolean> =>
  (await findClaimable(context.db, ['test'])).work.some((work) => work.jobId === jobId);

async function sealedJob(context: EngineContext, items: number): Promise<string> {
  const jobId = await jobWithItems(context, { items });
  await sealJob(context, jobId);
  return jobId;
}

async function flushDone(context: EngineContext, claim: ClaimedSpan, seqs: number[]) {
  const { jobId, generation, phase } = claim;
  const leases = [{ ...claim, outcomes: seqs.map(doneOutcome) }];
  return flushOutcomes(
    context,
    { jobId, generation, phase, workerId: newId(), flushId: newId(), leases },
    false,
  );
}

async function expectCancelled(context: EngineContext, jobId: string, counts: Record<string, number>) {
  expect(await stateOf(context, jobId)).toBe('CANCELLED');
  expect(await readSummary(context.db, jobId)).toMatchObject({ state: 'CANCELLED', counts });
  expect(await violations(jobId)).toEqual([]);
  expect(await diagnose(database.url, { jobId, blobs: context.blobs })).toMatchObject({ ok: true });
}

const jobIn = async (state: JobState, token: string | null = null, isSealed = true): Promise<string> => {
  const [job] = await database.query<{ job_id: string }>(
    `insert into jobs (job_id, owner_id, pipeline, phases, state, sealed_at, cancelled_at, finalize_token)
     values (gen_random_uuid(), 'test', 'test', '{only}', $1::job_state,
             case when $3 and $1::job_state <> 'INGESTING' then now() end,
             case when $1::job_state in ('CANCELLING', 'CANCELLED') then now() end, $2) returning job_id`,
    [state, token, isSealed],
  );
  return job!.job_id;
};

/** Opens another generation, whatever the state of the job. */
const reopen = async (db: Executor, jobId: string): Promise<boolean> => {
  const { state } = (await readJob(db, jobId))!;
  return openGeneration(db, { jobId, generation: 1, state }, null);
};

describe('every statement that changes the state of a job makes its own transition only', () => {
  const token = newId();
  const statements: Record<Transition, ((db: Executor, jobId: string) => Promise<unknown>)[]> = {
    seal: [sealJobRow],
    start: [startJob],
    pause: [pauseJobRow, (db, jobId) => pauseAtBudget(db, [jobId], 'spent', null)],
    resume: [resumeJobRow],
    failIngest: [(db, jobId) => failIngest(db, jobId, 'unreadable')],
    cancel: [beginCancelling],
    beginFinalizing: [beginFinalizing],
    finish: FINISHED_STATES.map((state) => (db, jobId) => finishJobRow(db, jobId, token, state)),
    reopen: [reopen],
  };
  const cases = (Object.keys(TRANSITIONS) as Transition[]).flatMap((transition) =>
    JOB_STATES.map((state) => ({ transition, state })),
  );

  test.each(cases)('$transition of a job that is $state', async ({ transition, state }) => {
    const { db } = database.context();
    const { from, to }: { from: readonly JobState[]; to: readonly JobState[] } = TRANSITIONS[transition];
    for (const run of statements[transition]) {
      const jobId = await jobIn(state, token, transition !== 'seal' && transition !== 'failIngest');
      await run(db, jobId);
      const { state: after } = (await readJob(db, jobId))!;
      if (from.includes(state)) expect(to).toContain(after);
      else expect(after).toBe(state);
    }
  });
});

describe('the actions of an owner', () => {
  const moves: Record<ControlAction, (db: Executor, jobId: string) => Promise<boolean>> = {
    pause: pauseJobRow,
    resume: async (db, jobId) => (await resumeJobRow(db, jobId)) !== null,
    cancel: beginCancelling,
    reprocess: reopen,
  };
  const asks = { pause: pauseJob, resume: resumeJob, cancel: cancelJob };
  const pairs = JOB_STATES.flatMap((state) =>
    (['pause', 'resume', 'cancel', 'reprocess'] as const).map((action) => ({ state, action })),
  );

  test.each(pairs)('$action a job that is $state', async ({ state, action }) => {
    const context = database.context();
    expect(await moves[action](context.db, await jobIn(state))).toBe(canControl(action, state));

    // Reprocessing needs items: see reprocess.test.ts.
    if (action === 'reprocess') return;
    const there = {
      pause: ['PAUSED'] as JobState[],
      resume: ['INGESTING', 'QUEUED', 'RUNNING'],
      cancel: ['CANCELLING', 'CANCELLED'],
    };
    const asked = asks[action](context, await jobIn(state));
    if (canControl(action, state) || there[action].includes(state)) await asked;
    else await expect(asked).rejects.toMatchObject({ code: 'JOB_CONFLICT' });
  });

  test.each(['pause', 'resume', 'cancel'] as const)('%s of an unknown job is refused', async (action) => {
    await expect(asks[action](database.context(), newId())).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' });
  });
});

describe('a paused job', () => {
  test('gives out no items, accepts running ones, and is finished by the resume if those were the last', async () => {
    const context = database.context();
    const jobId = await sealedJob(context, 3);
    const claim = (await claimItems(context.db, claimRequest(jobId)))!;
    expect(await pauseJob(context, jobId)).toBe(true);
    expect(await pauseJob(context, jobId)).toBe(false);
    expect(await claimItems(context.db, claimRequest(jobId))).toBeNull();
    expect(await isFound(context, jobId)).toBe(false);
    expect(await flushDone(context, claim, [0, 1, 2])).toMatchObject({ recorded: 3, fenced: 0 });
    await sweep(context);
    expect(await stateOf(context, jobId)).toBe('PAUSED');
    await resumeJob(context, jobId);
    expect(await stateOf(context, jobId)).toBe('DONE');
    expect(await violations(jobId)).toEqual([]);
  });

  test('resumes to INGESTING, QUEUED or RUNNING, as appropriate', async () => {
    const context = database.context();
    const jobId = await jobWithItems(context, { items: 2 });
    await pauseJob(context, jobId);
    expect(await resumeJob(context, jobId)).toEqual({ changed: true, state: 'INGESTING', released: 0 });
    await pauseJob(context, jobId);
    await addItems(context, jobId, [{ n: 2 }]);
    expect(await sealJob(context, jobId)).toBe(3);
    expect(await stateOf(context, jobId)).toBe('PAUSED');
    expect(await resumeJob(context, jobId)).toEqual({ changed: true, state: 'QUEUED', released: 0 });
    await database.query('update jobs set started_at = now() where job_id = $1', [jobId]);
    await pauseJob(context, jobId);
    expect(await resumeJob(context, jobId)).toEqual({ changed: true, state: 'RUNNING', released: 0 });
  });

  test('takes back the items that a worker has not started, and leaves it the started ones', async () => {
    const context = database.context();
    const jobId = await sealedJob(context, 6);
    const claim = (await claimItems(context.db, claimRequest(jobId)))!;
    await pauseJob(context, jobId);
    await releaseUnstarted(context.db, claim, [[2, 6]]);
    expect(await claimItems(context.db, claimRequest(jobId))).toBeNull();
    expect((await readProgress(context.db, jobId))!.counts).toMatchObject({ PENDING: 4, PROCESSING: 2 });
    await releaseUnstarted(context.db, claim, [[2, 6]]);
    await releaseUnstarted(context.db, { ...claim, token: newId() }, [[0, 1]]);
    expect(await flushDone(context, claim, [0])).toMatchObject({ recorded: 1 });
    await releaseUnstarted(context.db, claim, [[1, 2]]);
    expect((await readProgress(context.db, jobId))!.counts).toMatchObject({
      DONE: 1,
      PENDING: 5,
      PROCESSING: 0,
    });
    expect(await violations(jobId)).toEqual([]);
  });
});

describe('a held job', () => {
  test('accepts items until it is sealed, and runs nothing until it is resumed', async () => {
    const context = database.context();
    const { jobId } = await createJob(context, { pipeline: 'test', phases: ['only'], hold: true });
    await addItems(context, jobId, [{ n: 0 }]);
    expect(await claimItems(context.db, claimRequest(jobId))).toBeNull();
    await addItems(context, jobId, [{ n: 1 }]);
    await sealJob(context, jobId);
    await expect(addItems(context, jobId, [{ n: 2 }])).rejects.toMatchObject({ code: 'JOB_NOT_INGESTING' });
    expect(await stateOf(context, jobId)).toBe('PAUSED');
    await resumeJob(context, jobId);
    expect((await claimItems(context.db, claimRequest(jobId)))!.itemCount).toBe(2);
  });
});

describe('a trial', () => {
  const trialJob = async (context: EngineContext, batches: number[], trial: number): Promise<string> => {
    const { jobId } = await createJob(context, { pipeline: 'test', phases: ['only'], trial });
    for (const size of batches)
      await addItems(
        context,
        jobId,
        Array.from({ length: size }, (_, n) => ({ n })),
      );
    return jobId;
  };

  test('gives out the first items only, holds the rest over several batches, and releases it', async () => {
    const context = database.context();
    const jobId = await trialJob(context, [2, 3, 4], 3);
    await sealJob(context, jobId);
    const first = [
      (await claimItems(context.db, claimRequest(jobId)))!,
      await claimItems(context.db, claimRequest(jobId)),
    ].flatMap((claim) => claim?.items.map(({ seq }) => seq) ?? []);
    expect(first.sort()).toEqual([0, 1, 2]);
    expect(await isFound(context, jobId)).toBe(false);
    expect(await readProgress(context.db, jobId)).toMatchObject({
      held: 6,
      retrying: 0,
      counts: { PENDING: 6, PROCESSING: 3 },
    });
    expect(await resumeJob(context, jobId)).toMatchObject({ released: 6 });
    expect((await claimItems(context.db, claimRequest(jobId)))!.itemCount).toBe(6);
    expect(await resumeJob(context, jobId)).toMatchObject({ released: 0 });
    expect(await violations(jobId)).toEqual([]);
  });

  test('rows waiting for a retry and rows waiting for a limit are counted separately', async () => {
    const context = database.context();
    const jobId = await trialJob(context, [9], 9);
    await replaceSpans(database, jobId, [
      { items: '{[0,2)}', attempt: 1, readyInMs: 600_000 },
      { items: '{[2,6)}', attempt: 0, readyInMs: 600_000 },
      { items: '{[6,9)}' },
    ]);
    expect(await readProgress(context.db, jobId)).toMatchObject({
      retrying: 2,
      limited: 4,
      counts: { PENDING: 9 },
    });
    expect(
      (await readProgressOf(context.db, jobId, { reportMs: 1000, silentMs: 1000 }))!.phases,
    ).toMatchObject([{ retrying: 2, limited: 4, waiting: 9 }]);
  });

  test('holds no later batches once it was released', async () => {
    const context = database.context();
    const jobId = await trialJob(context, [4], 2);
    expect(await resumeJob(context, jobId)).toEqual({ changed: true, state: 'INGESTING', released: 2 });
    await addItems(context, jobId, [{ n: 4 }]);
    expect((await readProgress(context.db, jobId))!.held).toBe(0);
  });

  test('is still a trial after a pause and a resume', async () => {
    const context = database.context();
    const jobId = await trialJob(context, [4], 2);
    await pauseJob(context, jobId);
    expect(await resumeJob(context, jobId)).toEqual({ changed: true, state: 'INGESTING', released: 0 });
    expect((await readProgress(context.db, jobId))!.held).toBe(2);
  });

  test('does not finish while items are held, and its cancellation includes them', async () => {
    const context = database.context();
    const jobId = await trialJob(context, [5], 2);
    await sealJob(context, jobId);
    await flushDone(context, (await claimItems(context.db, claimRequest(jobId)))!, [0, 1]);
    await sweep(context);
    expect(await stateOf(context, jobId)).toBe('QUEUED');
    await cancelJob(context, jobId);
    await expectCancelled(context, jobId, { DONE: 2, CANCELLED: 3 });
  });

  test.each([0, -1, 1.5, Number.NaN])('of %s items is refused', async (trial) => {
    const request = { pipeline: 'test', phases: ['only'], trial };
    await expect(createJob(database.context(), request)).rejects.toMatchObject({ code: 'ITEM_INVALID' });
  });
});

describe('a cancelled job', () => {
  test('keeps its results, cancels every waiting item, and fences late flushes', async () => {
    const context = database.context();
    const jobId = await sealedJob(context, 10);
    const claim = (await claimItems(context.db, claimRequest(jobId, { maxItems: 6 })))!;
    await flushDone(context, claim, [0, 2]);
    expect(await cancelJob(context, jobId)).toBe(true);
    expect(await flushDone(context, claim, [1])).toMatchObject({ recorded: 0, fenced: 1 });
    expect(await cancelJob(context, jobId)).toBe(false);
    await expectCancelled(context, jobId, { DONE: 2, CANCELLED: 8 });
    expect((await readProgress(context.db, jobId))!.fenced).toBe(1);
    const [file] = (await readSummary(context.db, jobId))!.files;
    expect(file).toMatchObject({ name: 'results.csv', rows: 10 });
  });

  test('that is reopened before its workers notice invalidates their leases, but not their new claims', async () => {
    const context = database.context();
    const jobId = await sealedJob(context, 4);
    const heldOf = async () =>
      new Lease(await claimWhole(context.db, claimRequest(jobId, { maxItems: 4 })), 0, NO_HOLDER);
    const before = await heldOf();
    await cancelJob(context, jobId);
    await reprocessJob(context, jobId, { statuses: ['CANCELLED'] });
    const after = await heldOf();
    expect([before.claim.generation, after.claim.generation]).toEqual([1, 2]);
    const cancelled: Lease[] = [];
    const paused: Lease[] = [];
    await obeyControl(context.db, {
      leases: () => [before, after],
      onPaused: (leases) => paused.push(...leases),
      onCancelled: (leases) => cancelled.push(...leases),
    });
    expect([cancelled, paused]).toEqual([[before], []]);
  });

  test('that was not sealed finishes with the stored items, and accepts no more', async () => {
    const context = database.context();
    const jobId = await jobWithItems(context, { items: 3 });
    await cancelJob(context, jobId);
    await expectCancelled(context, jobId, { CANCELLED: 3 });
    await expect(addItems(context, jobId, [{ n: 3 }])).rejects.toMatchObject({ code: 'JOB_NOT_INGESTING' });
    await expect(sealJob(context, jobId)).rejects.toMatchObject({ code: 'JOB_NOT_INGESTING' });
  });

  test('is also finished if it has no items', async () => {
    const context = database.context();
    const { jobId } = await createJob(context, { pipeline: 'test', phases: ['only'] });
    await cancelJob(context, jobId);
    await expectCancelled(context, jobId, { CANCELLED: 0 });
  });

  test('is finished by the sweep if its canceller died after any step', async () => {
    const context = database.context();
    const jobId = await sealedJob(context, 10);
    await claimItems(context.db, claimRequest(jobId, { maxItems: 3 }));
    await beginCancelling(context.db, jobId);
    expect(await claimItems(context.db, claimRequest(jobId))).toBeNull();
    await sweep(context);
    await expectCancelled(context, jobId, { CANCELLED: 10 });
  });

  test.each([1, 2, 3, 7, 100])('has the same result in steps of %d items', async (itemsPerStep) => {
    const context = database.context();
    const jobId = await jobWithItems(context, { items: 10 });
    const claim = (await claimItems(context.db, claimRequest(jobId, { maxItems: 6 })))!;
    // The remaining lease has holes.
    await flushDone(context, claim, [1, 3]);
    await addItems(context, jobId, [{ n: 10 }, { n: 11 }]);
    await beginCancelling(context.db, jobId);
    await cancelRest(context, jobId, itemsPerStep);
    await expectCancelled(context, jobId, { DONE: 2, CANCELLED: 10 });
  });

  /** Fails each statement that gives results to more than `most` items of these jobs, like a deadline. */
  async function endLargeSteps(most: number, jobIds: string[], code = '57014'): Promise<void> {
    await database.query(`
      create or replace function end_large_step() returns trigger language plpgsql as $$ begin
        if (select count(*) from added where job_id = any('{${jobIds.join()}}')) > ${most} then
          raise exception 'canceling statement due to statement timeout' using errcode = '${code}';
        end if;
        return null;
      end $$`);
    await database.query(`
      create or replace trigger end_large_step after insert on result_rows referencing new table as added
      for each statement execute function end_large_step()`);
  }

  test('whose steps exceed the deadline is cancelled in smaller ones', async () => {
    const context = database.context();
    const jobId = await sealedJob(context, 200);
    await endLargeSteps(60, [jobId]);
    await beginCancelling(context.db, jobId);
    await cancelRest(context, jobId);
    await expectCancelled(context, jobId, { CANCELLED: 200 });
  });

  test('that cannot be cancelled does not keep the sweep from other jobs', async () => {
    const context = database.context();
    const jobIds = [await sealedJob(context, 1), await sealedJob(context, 1), await sealedJob(context, 1)];
    await endLargeSteps(0, jobIds.slice(0, 2), 'ZZ001');
    for (const jobId of jobIds) await beginCancelling(context.db, jobId);
    await expect(sweep(context)).rejects.toMatchObject({ code: 'ZZ001' });
    expect(await Promise.all(jobIds.map((jobId) => stateOf(context, jobId)))).toEqual([
      'CANCELLING',
      'CANCELLING',
      'CANCELLED',
    ]);
    await endLargeSteps(1, []);
    await sweep(context);
    for (const jobId of jobIds) await expectCancelled(context, jobId, { CANCELLED: 1 });
  });

  test('is not cancelled again while its files are written', async () => {
    const context = database.context();
    const jobId = await sealedJob(context, 1);
    await beginCancelling(context.db, jobId);
    await cancelItems(context.db, jobId, 10);
    await beginFinalizing(context.db, jobId);
    const token = newId();
    await claimFinalize(context.db, { jobId, workerId: token, token, leaseMs: 60_000 });
    expect(await cancelJob(context, jobId)).toBe(false);
    expect(await stateOf(context, jobId)).toBe('FINALIZING');
    expect(await finishJobRow(context.db, jobId, token, 'CANCELLED')).not.toBeNull();
  });

  test('that was finalizing is finished once, as cancelled, with files of a new attempt', async () => {
    const context = database.context();
    const jobId = await sealedJob(context, 2);
    await flushDone(context, (await claimItems(context.db, claimRequest(jobId)))!, [0, 1]);
    await database.query(`update jobs set state = 'FINALIZING', finalizing_at = now() where job_id = $1`, [
      jobId,
    ]);
    const token = newId();
    await claimFinalize(context.db, { jobId, workerId: token, token, leaseMs: 60_000 });
    await cancelJob(context, jobId);
    expect(await finishJobRow(context.db, jobId, token, 'DONE'), 'the interrupted finalizer').toBeNull();
    expect(await finalizeJob(context, jobId)).toBe(false);
    await expectCancelled(context, jobId, { DONE: 2, CANCELLED: 0 });
    expect((await readSummary(context.db, jobId))!.files[0]!.key).toContain('/a2/');
  });
});

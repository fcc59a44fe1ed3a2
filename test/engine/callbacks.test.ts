// Callbacks of pipelines: called after the commit they report, retried until they succeed, and never in the way of the
// job.
import { afterEach, describe, expect, test } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { diagnose } from '../../src/engine/jobs/diagnose.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { runCallbacks } from '../../src/engine/services/callback-runner.ts';
import { openRowmill } from '../../src/open-rowmill.ts';
import { definePipeline } from '../../src/pipeline/define-pipeline.ts';
import type { PipelineCallbacks } from '../../src/pipeline/pipeline-callbacks.ts';
import { newId } from '../../src/platform/random.ts';
import { claimCallback } from '../../src/store/commands/jobs/claim-callback.ts';
import { silentLogger } from '../support/silent-logger.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const never = new AbortController().signal;

afterEach(async () => {
  await database.query('delete from callbacks');
});

/** Creates an empty, finished job. */
async function endedJob(context: EngineContext): Promise<string> {
  const { jobId } = await createJob(context, {
    pipeline: 'told',
    phases: ['a', 'b'],
    params: { color: 'red' },
  });
  await sealJob(context, jobId);
  return jobId;
}

const run = (context: EngineContext, callbacks: PipelineCallbacks): Promise<void> => {
  const phases = ['a', 'b'].map((name) => ({ name, run: () => null }));
  const pipeline = definePipeline({ name: 'told', phases, ...callbacks });
  return runCallbacks(context, [pipeline], silentLogger, never);
};

const rows = (): Promise<
  { kind: string; part: number; state: string; attempts: number; last_error: string | null }[]
> => database.query('select kind, part, state, attempts, last_error from callbacks order by kind, part');

const makeDue = () => database.query('update callbacks set next_attempt_at = now()');

describe('onDone', () => {
  test('is called once when a generation is finished, with its summary', async () => {
    const context = database.context();
    const jobId = await endedJob(context);
    const calls: unknown[] = [];
    const onDone: PipelineCallbacks['onDone'] = (summary, { idempotencyKey, attempt, params }) =>
      calls.push({ outcome: summary.outcome, total: summary.total, idempotencyKey, attempt, params });
    await run(context, { onDone });
    await run(context, { onDone });
    expect(calls).toEqual([
      {
        outcome: 'succeeded',
        total: 0,
        idempotencyKey: `${jobId}:1:done`,
        attempt: 1,
        params: { color: 'red' },
      },
    ]);
    expect(await rows()).toMatchObject([{ kind: 'done', state: 'DONE' }]);
  });

  test('does not delay the end of the job if it fails, and is retried with the same key', async () => {
    const context = database.context();
    const jobId = await endedJob(context);
    const keys: string[] = [];
    const onDone: PipelineCallbacks['onDone'] = (_summary, { idempotencyKey }) => {
      keys.push(idempotencyKey);
      if (keys.length < 3) throw new Error('the mail server is down');
    };
    await run(context, { onDone });
    const [job] = await database.query('select state from jobs where job_id = $1', [jobId]);
    expect(job).toEqual({ state: 'DONE' });
    expect(await rows()).toMatchObject([
      { state: 'PENDING', attempts: 1, last_error: 'the mail server is down' },
    ]);
    await run(context, { onDone });
    expect(keys).toHaveLength(1);
    for (const _ of [2, 3]) {
      await makeDue();
      await run(context, { onDone });
    }
    expect(keys).toEqual(Array(3).fill(`${jobId}:1:done`));
    expect(await rows()).toMatchObject([{ state: 'DONE' }]);
  });

  test('is given up after too many failures, and the doctor reports it', async () => {
    const context = database.context();
    const jobId = await endedJob(context);
    await database.query('update callbacks set attempts = 14');
    await run(context, {
      onDone: () => Promise.reject(new Error('no')),
    });
    expect(await rows()).toMatchObject([{ state: 'DEAD', attempts: 15, last_error: 'no' }]);
    const { ok, invariants } = await diagnose(database.url, { jobId });
    expect(ok).toBe(false);
    expect(invariants.find(({ invariant }) => invariant === 'callbacks')?.problems).toEqual([
      { jobId, problem: 'the callback done of generation 1 was given up after 15 attempts: no' },
    ]);
  });

  test('is aborted and retried if it does not return', async () => {
    const context = database.context({ itemTimeoutMs: 50 });
    await endedJob(context);
    let aborted = false;
    await run(context, {
      onDone: (_summary, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            aborted = true;
          });
        }),
    });
    expect(aborted).toBe(true);
    expect(await rows()).toMatchObject([
      { state: 'PENDING', attempts: 1, last_error: 'timed out after 50 ms' },
    ]);
  });

  test('is called once even with several workers', async () => {
    const contexts = [database.context(), database.context(), database.context()];
    for (let n = 0; n < 10; n += 1) await endedJob(contexts[0]!);
    const keys: string[] = [];
    const onDone: PipelineCallbacks['onDone'] = (_summary, { idempotencyKey }) => keys.push(idempotencyKey);
    await Promise.all(contexts.map((context) => run(context, { onDone })));
    expect(keys).toHaveLength(10);
    expect(new Set(keys).size).toBe(10);
  });

  test('changes nothing if its result arrives after its lease expired', async () => {
    const context = database.context();
    await endedJob(context);
    let calls = 0;
    await run(context, {
      onDone: async () => {
        calls += 1;
        if (calls > 1) return;
        await database.query('update callbacks set expires_at = now() where token is not null');
        await run(database.context(), { onDone: () => (calls += 1) });
        throw new Error('too late');
      },
    });
    expect(calls).toBe(2);
    expect(await rows()).toMatchObject([{ state: 'DONE', attempts: 2, last_error: null }]);
  });
});

describe('onItemError', () => {
  test('gets the failed items of the generation in batches, and again only the batch that failed', async () => {
    const context = database.context();
    const jobId = await endedJob(context);
    await database.query(
      `insert into items (job_id, seq, input_bytes, input) select $1, n, 2, jsonb_build_object('n', n) from generate_series(0, 499) n`,
      [jobId],
    );
    await database.query(
      `insert into result_rows (job_id, seq, generation, phase, attempt, status, error_class, error)
       select $1, n, 1, 0, 1, (case when n % 2 = 0 then 'ERROR' else 'DONE' end)::item_status, 'permanent', 'bad ' || n
       from generate_series(0, 499) n`,
      [jobId],
    );
    await database.query(
      'insert into item_edits (job_id, seq, generation, input_bytes, input) values ($1, 0, 1, 2, $2)',
      [jobId, '{"n":"edited"}'],
    );
    const calls: { seqs: number[]; key: string }[] = [];
    const first: unknown[] = [];
    const onItemError: PipelineCallbacks['onItemError'] = (items, { idempotencyKey }) => {
      first.push(items[0]);
      calls.push({ seqs: items.map(({ seq }) => seq), key: idempotencyKey });
      if (calls.length === 2) throw new Error('not now');
    };
    await run(context, { onItemError });
    await makeDue();
    await run(context, { onItemError });
    const failed = Array.from({ length: 250 }, (_, n) => 2 * n);
    const batches = [failed.slice(0, 100), failed.slice(100, 200), failed.slice(100, 200), failed.slice(200)];
    expect(calls.map(({ seqs }) => seqs)).toEqual(batches);
    expect(calls.map(({ key }) => key)).toEqual(batches.map((batch) => `${jobId}:1:itemError:${batch[0]}`));
    expect(first[0]).toEqual({
      seq: 0,
      phase: 0,
      attempt: 1,
      errorClass: 'permanent',
      error: 'bad 0',
      input: { n: 'edited' },
    });
    expect(await rows()).toMatchObject([{ kind: 'itemError', state: 'DONE' }]);
  });

  test('is not called if no item failed', async () => {
    const context = database.context();
    await endedJob(context);
    let calls = 0;
    await run(context, { onItemError: () => (calls += 1) });
    expect(calls).toBe(0);
    expect(await rows()).toMatchObject([{ kind: 'itemError', state: 'DONE' }]);
  });
});

describe('a worker', () => {
  test('reports a finished phase while the next one runs, and all phases at the end', async () => {
    const told: string[] = [];
    let release = (): void => {};
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    const pipeline = definePipeline({
      name: 'told-live',
      phases: [
        { name: 'a', run: ({ n }) => ({ n }) },
        {
          name: 'b',
          run: async (row) => {
            await isReleased;
            if (row.n === 1) throw new TypeError('bad row');
            return row;
          },
        },
      ],
      onPhaseDone: (phase, { generation }) => {
        told.push(`${phase} ${generation}`);
        release();
      },
      onItemError: (items) => told.push(`failed ${items.map(({ seq }) => seq).join()}`),
      onDone: (summary) => told.push(`done ${JSON.stringify(summary.counts)}`),
    });
    const rowmill = await openRowmill({ databaseUrl: database.url });
    const worker = await rowmill.startWorker([pipeline], { settings: { maxAttemptsError: 1 } });
    await rowmill.submit(pipeline, [{ n: 0 }, { n: 1 }]);
    await expect.poll(() => told).toHaveLength(4);
    await worker.stop();
    await rowmill.close();
    expect(told[0]).toBe('a 1');
    expect(told.map((each) => each.replace(/^done .*/, 'done')).sort()).toEqual([
      'a 1',
      'b 1',
      'done',
      'failed 1',
    ]);
  });
});

test('a claim takes one callback even if the statistics of the database know only one', async () => {
  const context = database.context();
  await endedJob(context);
  await database.query(`delete from callbacks where kind <> 'done'`);
  await database.query('vacuum (full, analyze) callbacks');
  await endedJob(context);
  const kinds = ['done', 'itemError', 'phaseDone'] as const;
  const request = { pipeline: 'told', version: null, kinds, token: newId(), leaseMs: 60_000 };
  expect(await claimCallback(context.db, request)).toMatchObject({ kind: 'done', attempts: 1 });
  expect(await database.query('select 1 from callbacks where token is not null')).toHaveLength(1);
});

test('callbacks that a pipeline does not define are removed, and those of other pipelines are kept', async () => {
  const context = database.context();
  await endedJob(context);
  const { jobId } = await createJob(context, { pipeline: 'others', phases: ['a'] });
  await sealJob(context, jobId);
  await run(context, {});
  expect((await rows()).map(({ kind, state }) => `${kind} ${state}`)).toEqual([
    'done PENDING',
    'itemError PENDING',
    'phaseDone PENDING',
  ]);
});

test('the phases of a cancelled generation are not reported as done', async () => {
  const context = database.context();
  const { jobId } = await createJob(context, { pipeline: 'told', phases: ['a', 'b'] });
  await cancelJob(context, jobId);
  expect((await rows()).map(({ kind }) => kind)).toEqual(['done', 'itemError']);
});

test('a callback that is not a function is refused when the pipeline is defined', () => {
  expect(() =>
    definePipeline({ name: 'wrong', phases: [{ name: 'a', run: () => 1 }], onDone: 'later' as never }),
  ).toThrow('expected onDone of pipeline wrong to be a function, got a string');
});

// Job events are written in the transaction of the change, and numbered so that no reader can miss one.
import { describe, expect, test } from 'vitest';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { addItems } from '../../src/engine/items/add-items.ts';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { reprocessJob } from '../../src/engine/reprocess/reprocess-job.ts';
import { pruneEvents } from '../../src/engine/services/event-pruner.ts';
import { insertJobEvent } from '../../src/store/commands/events/insert-job-event.ts';
import { numberJobEvents } from '../../src/store/commands/events/number-job-events.ts';
import { admitJob } from '../../src/store/commands/jobs/admit-job.ts';
import { failIngest } from '../../src/store/commands/jobs/fail-ingest.ts';
import { pauseAtBudget } from '../../src/store/commands/jobs/pause-job.ts';
import { startJob } from '../../src/store/commands/jobs/start-job.ts';
import { readEventPositions, readJobEvents } from '../../src/store/views/events/read-job-events.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const EVERYBODY = { owners: null };

async function openJob(context: EngineContext, rows = 2): Promise<string> {
  const { jobId } = await createJob(context, { pipeline: 'test', phases: ['only'], name: 'prices' });
  await addItems(
    context,
    jobId,
    Array.from({ length: rows }, (_, n) => ({ n })),
  );
  return jobId;
}

async function kindsOf(jobId: string): Promise<string[]> {
  const rows = await database.query<{ kind: string; state: string; generation: number }>(
    'select kind, state, generation from job_events where job_id = $1 order by event_id',
    [jobId],
  );
  return rows.map(({ kind, state, generation }) => `${kind} ${state} ${generation}`);
}

function auditOf(jobId: string): Promise<Record<string, unknown>[]> {
  return database.query('select actor, action, detail from audit where subject = $1 order by audit_id', [
    `job ${jobId}`,
  ]);
}

describe('an event', () => {
  test('and its audit row are written once for each change of a job, with the new state', async () => {
    const context = { ...database.context(), by: { actor: 'ann', requestId: null, address: null } };
    const jobId = await openJob(context);
    await sealJob(context, jobId);
    await sealJob(context, jobId);
    await startJob(context.db, jobId);
    await startJob(context.db, jobId);
    await pauseJob(context, jobId);
    await pauseJob(context, jobId);
    await resumeJob(context, jobId);
    await resumeJob(context, jobId);
    await cancelJob(context, jobId);
    await cancelJob(context, jobId);
    await reprocessJob(context, jobId, { statuses: 'all' });
    await startJob(context.db, jobId);
    expect(await kindsOf(jobId)).toEqual([
      'job.created INGESTING 1',
      'job.sealed QUEUED 1',
      'job.started RUNNING 1',
      'job.paused PAUSED 1',
      'job.resumed RUNNING 1',
      'job.cancelling CANCELLING 1',
      'job.finished CANCELLED 1',
      'job.reprocessed QUEUED 2',
      'job.started RUNNING 2',
    ]);
    const audit = await auditOf(jobId);
    expect(audit.map(({ action }) => action)).toEqual([
      'job.create',
      'job.seal',
      'job.pause',
      'job.resume',
      'job.cancel',
      'job.reprocess',
    ]);
    expect(new Set(audit.map(({ actor }) => actor))).toEqual(new Set(['ann']));
  });

  test('of a repeated request is not written again; without an actor the library is named', async () => {
    const context = database.context();
    const request = { pipeline: 'test', phases: ['only'], idempotencyKey: 'twice' };
    const { jobId } = await createJob(context, request);
    expect(await createJob(context, request)).toEqual({ jobId, created: false });
    expect(await kindsOf(jobId)).toEqual(['job.created INGESTING 1']);
    expect(await auditOf(jobId)).toEqual([
      { actor: 'library', action: 'job.create', detail: { pipeline: 'test', name: '' } },
    ]);
  });

  test('is not written if its change is refused or rolled back', async () => {
    const context = database.context();
    const jobId = await openJob(context);
    await expect(reprocessJob(context, jobId)).rejects.toMatchObject({ code: 'JOB_CONFLICT' });
    await database.query(`create function refuse_audit() returns trigger language plpgsql as
      $$ begin if new.action = 'job.pause' then raise exception 'no audit'; end if; return new; end $$`);
    await database.query(
      'create trigger refuse before insert on audit for each row execute function refuse_audit()',
    );
    await expect(pauseJob(context, jobId)).rejects.toThrow('no audit');
    await database.query('drop trigger refuse on audit');
    expect(await kindsOf(jobId)).toEqual(['job.created INGESTING 1']);
    const [job] = await database.query('select state from jobs where job_id = $1', [jobId]);
    expect(job).toEqual({ state: 'INGESTING' });
  });

  test('is written with the reason when a job stops without a request', async () => {
    const context = database.context();
    const [first, second] = [await openJob(context), await openJob(context)];
    await admitJob(context.db, first);
    await admitJob(context.db, first);
    expect((await pauseAtBudget(context.db, [first, second], 'spent', null)).sort()).toEqual(
      [first, second].sort(),
    );
    expect(await pauseAtBudget(context.db, [first, second], 'spent', null)).toEqual([]);
    await failIngest(context.db, first, 'line 3 is not a row');
    await failIngest(context.db, first, 'again');
    const rows = await database.query(
      'select kind, detail from job_events where job_id = $1 order by event_id',
      [first],
    );
    expect(rows).toEqual([
      { kind: 'job.created', detail: expect.anything() },
      { kind: 'job.started', detail: {} },
      { kind: 'job.paused', detail: { reason: 'spent' } },
      { kind: 'job.failed', detail: { reason: 'line 3 is not a row' } },
    ]);
    expect(await kindsOf(second)).toEqual(['job.created INGESTING 1', 'job.paused PAUSED 1']);
  });
});

describe('positions', () => {
  test('are assigned so that readers do not miss an event that commits late', async () => {
    const context = database.context();
    const jobId = await openJob(context);
    await numberJobEvents(context.db);
    const { last } = await readEventPositions(context.db);
    let commitLate = (): void => {};
    let inserted = (): void => {};
    const isInserted = new Promise<void>((resolve) => {
      inserted = resolve;
    });
    const late = context.db.transaction(async (tx) => {
      await insertJobEvent(tx, [jobId], 'job.changed', { late: true });
      inserted();
      await new Promise<void>((resolve) => {
        commitLate = resolve;
      });
    });
    await isInserted;
    await insertJobEvent(context.db, [jobId], 'job.changed', { late: false });
    await numberJobEvents(context.db);
    const between = { after: last, upTo: Number.MAX_SAFE_INTEGER, limit: 10 };
    const before = await readJobEvents(context.db, { jobId }, between);
    expect(before.map(({ position, detail }) => ({ position, detail }))).toEqual([
      { position: last + 1, detail: { late: false } },
    ]);
    commitLate();
    await late;
    await numberJobEvents(context.db);
    const after = await readJobEvents(context.db, { jobId }, { ...between, after: last + 1 });
    expect(after.map(({ position, detail }) => ({ position, detail }))).toEqual([
      { position: last + 2, detail: { late: true } },
    ]);
    expect(after[0]!.eventId).toBeLessThan(before[0]!.eventId);
  });

  test('have no gap and no duplicate for a reader beside many writers and several numbering processes', async () => {
    const [writing, other, reading] = [database.context(), database.context(), database.context()];
    const jobId = await openJob(writing);
    await numberJobEvents(writing.db);
    const start = (await readEventPositions(reading.db)).last;
    let isWriting = true;
    const total = 400;
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = 0; n < total / 4; n += 1)
        await (writer % 2 ? writing : other).db.transaction((tx) =>
          insertJobEvent(tx, [jobId], 'job.changed', { writer, n }),
        );
    });
    const numbering = [writing, other].map(async ({ db }) => {
      while (isWriting) await numberJobEvents(db);
      await numberJobEvents(db);
    });
    const seen: number[] = [];
    const read = async (): Promise<void> => {
      const between = { after: seen.at(-1) ?? start, upTo: Number.MAX_SAFE_INTEGER, limit: 50 };
      for (const { position } of await readJobEvents(reading.db, EVERYBODY, between)) seen.push(position);
    };
    const reader = (async () => {
      while (isWriting) await read();
    })();
    await Promise.all(writers);
    isWriting = false;
    await Promise.all([...numbering, reader]);
    while (seen.length < total) await read();
    expect(seen).toEqual(Array.from({ length: total }, (_, n) => start + 1 + n));
  });
});

describe('old events', () => {
  test('are removed when they are no longer needed, and the end of the gap is known', async () => {
    const context = database.context({ eventKeepMs: 60_000 });
    await openJob(context);
    await numberJobEvents(context.db);
    await database.query(`update job_events set at = now() - interval '1 hour'`);
    const jobId = await openJob(context);
    const { last } = await readEventPositions(context.db);
    await pruneEvents(context, { deliveries: true });
    expect(await readEventPositions(context.db)).toEqual({ last: last + 1, pruned: last });
    expect(await kindsOf(jobId)).toEqual(['job.created INGESTING 1']);
    expect(await database.query('select 1 from job_events where position <= $1', [last])).toEqual([]);
  });
});

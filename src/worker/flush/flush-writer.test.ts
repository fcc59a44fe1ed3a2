import { beforeEach, describe, expect, it } from 'vitest';
import { claimRequest, claimWhole, jobWithItems } from '../../../test/support/job-factory.ts';
import { NO_HOLDER } from '../../../test/support/lease-holder.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import type { Claim } from '../../engine/claims/claim-work.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { RecordedOutcome } from '../../engine/flush/flush-outcomes.ts';
import type { Database } from '../../platform/database.ts';
import { type EventName, Events, type RowmillEvents } from '../../platform/events.ts';
import { newId } from '../../platform/random.ts';
import type { Settings } from '../../platform/settings.ts';
import { ClaimsUnderWay } from '../claims/claims-under-way.ts';
import { Lease, type LeaseHolder } from '../leases/lease.ts';
import { FlushBacklog } from './flush-backlog.ts';
import { FlushWriter } from './flush-writer.ts';

const database = useTestDatabase();
/** Triggers other than the one under test do not fire. */
const NEVER = { flushMaxDelayMs: 60_000, flushMaxItems: 100_000, flushMaxBytes: 536_870_912 };

beforeEach(() => {
  database.keepIfFailed();
});

function done(seq: number, json = `{"seq":${seq}}`): RecordedOutcome {
  return { seq, kind: 'terminal', status: 'DONE', json, failure: null, delayMs: 0, handlerMs: 1 };
}

/** DONE, with a trace. */
function logged(seq: number): RecordedOutcome {
  const trace = {
    endedAtMs: 0,
    strategy: null,
    thrown: null,
    log: '[]',
    lineCount: 0,
    droppedLines: 0,
    fetches: null,
    droppedFetches: 0,
    waitedMs: 0,
    waitedFor: null,
  };
  return { ...done(seq), trace };
}

interface Bench {
  jobId: string;
  lease: Lease;
  open: (claim: Claim) => Lease;
  backlog: FlushBacklog;
  claims: ClaimsUnderWay;
  writer: FlushWriter;
  context: EngineContext;
  settled: Lease[];
  lost: Lease[];
  mayFinish: string[];
  /** All events of a name so far. */
  seen: <Name extends EventName>(name: Name) => RowmillEvents[Name][];
  record: (...outcomes: RecordedOutcome[]) => void;
  /** Resolves once every recorded outcome is written or known to be lost. */
  whenSettled: Promise<void>;
}

/** A writer with one lease over all items of a fresh job. */
async function bench(
  items: number,
  settings: Partial<Settings> = {},
  options: { claiming?: boolean; wrap?: (db: Database) => Database; phases?: string[] } = {},
): Promise<Bench> {
  const base = database.context({ ...NEVER, ...settings });
  const jobId = await jobWithItems(base, { items, phases: options.phases ?? ['only'] });
  const claim = await claimWhole(base.db, claimRequest(jobId));
  const events = new Events();
  const log = new Map<EventName, unknown[]>();
  for (const name of ['flush.committed', 'flush.rolled_back', 'flush.split', 'flush.fenced'] as const)
    events.on(name, (detail) => log.set(name, [...(log.get(name) ?? []), detail]));
  const context = { ...base, events, db: options.wrap?.(base.db) ?? base.db };
  const settled: Lease[] = [];
  const lost: Lease[] = [];
  const mayFinish: string[] = [];
  let onSettled = (): void => {};
  const whenSettled = new Promise<void>((resolve) => {
    onSettled = resolve;
  });
  const backlog = new FlushBacklog(context.settings, events);
  const claims = new ClaimsUnderWay();
  if (options.claiming) claims.begin({ jobId, phase: 0 });
  const writer = new FlushWriter({
    context,
    workerId: newId(),
    backlog,
    claims,
    onMayFinish: (id) => mayFinish.push(id),
    onNewWork: () => {},
    onRelief: () => {},
  });
  const holder: LeaseHolder = {
    ...NO_HOLDER,
    settled: (each) => {
      settled.push(each);
      onSettled();
    },
    lost: (each) => lost.push(each),
  };
  const open = (opened: Claim): Lease => {
    const leased = new Lease(opened, 60_000, holder);
    writer.add(leased);
    return leased;
  };
  const lease = open(claim);
  return {
    jobId,
    lease,
    open,
    backlog,
    claims,
    writer,
    context,
    settled,
    lost,
    mayFinish,
    seen: <Name extends EventName>(name: Name) => (log.get(name) ?? []) as RowmillEvents[Name][],
    record: (...outcomes) => {
      for (const outcome of outcomes) writer.record(lease, outcome);
    },
    whenSettled,
  };
}

function resultsOf(jobId: string): Promise<Record<string, unknown>[]> {
  return database.query(
    'select seq::int, status, result, error_class, error from results where job_id = $1 order by seq',
    [jobId],
  );
}

function tracesOf(jobId: string): Promise<Record<string, unknown>[]> {
  return database.query(
    `select (line::json ->> 'seq')::int as seq, line::json ->> 'log' as log
     from trace_blocks cross join lateral unnest(string_to_array(traces, E'\\n')) as l(line)
     where job_id = $1 order by seq`,
    [jobId],
  );
}

async function ledgerOf(jobId: string): Promise<Record<string, unknown>> {
  const [sums] = await database.query(
    `select count(*)::int as entries, sum(done)::int as done, sum(error)::int as error, sum(fenced)::int as fenced,
            sum(retried)::int as retried, sum(advanced)::int as advanced
     from ledger where job_id = $1`,
    [jobId],
  );
  return sums!;
}

function spanItemsOf(jobId: string): Promise<Record<string, unknown>[]> {
  return database.query(
    `select items::text, phase, attempt, worker_id is not null as leased from spans where job_id = $1 order by items`,
    [jobId],
  );
}

describe('outcomes are flushed', () => {
  it('by size', async () => {
    const { context, record, jobId } = await bench(10, { flushMaxItems: 3 });
    const committed = context.events.next('flush.committed');
    record(done(0), done(1), done(2));
    expect(await committed).toMatchObject({ jobId, phase: 0, items: 3, trigger: 'size' });
    expect(await resultsOf(jobId)).toMatchObject([
      { seq: 0, status: 'DONE', result: { seq: 0 } },
      { seq: 1 },
      { seq: 2 },
    ]);
    expect(await spanItemsOf(jobId)).toEqual([{ items: '{[3,10)}', phase: 0, attempt: 0, leased: true }]);
  });

  it('by bytes', async () => {
    const { context, record } = await bench(10, { flushMaxBytes: 5000 });
    const committed = context.events.next('flush.committed');
    record(done(0), done(1, JSON.stringify('x'.repeat(5000))));
    expect(await committed).toMatchObject({ items: 2, trigger: 'bytes' });
  });

  it('by time', async () => {
    const { context, record } = await bench(10, { flushMaxDelayMs: 1 });
    const committed = context.events.next('flush.committed');
    record(done(0));
    expect(await committed).toMatchObject({ items: 1, trigger: 'time' });
  });

  it('immediately when nothing else is running or being claimed', async () => {
    const { context, record, whenSettled, mayFinish, settled, jobId, lease } = await bench(2);
    const committed = context.events.next('flush.committed');
    record(done(0), done(1));
    expect(await committed).toMatchObject({ items: 2, trigger: 'idle' });
    await whenSettled;
    expect(settled).toEqual([lease]);
    expect(mayFinish).toEqual([jobId]);
    expect(await spanItemsOf(jobId)).toEqual([]);
  });

  it('when a claim that could have brought more has finished', async () => {
    const { context, record, writer, jobId, backlog, claims } = await bench(1, {}, { claiming: true });
    const committed = context.events.next('flush.committed');
    record(done(0));
    expect(backlog.items).toBe(1);
    claims.end({ jobId, phase: 0 });
    writer.claimEnded(jobId);
    expect(await committed).toMatchObject({ items: 1, trigger: 'idle' });
  });

  it('by a drain, which resolves after the commit', async () => {
    const { record, writer, backlog, seen, jobId } = await bench(10);
    record(done(3), done(1));
    await writer.drain();
    expect(seen('flush.committed')).toMatchObject([{ items: 2, trigger: 'drain' }]);
    expect(backlog.items).toBe(0);
    expect(writer.unpersisted()).toEqual([]);
    expect(await resultsOf(jobId)).toHaveLength(2);
  });

  it('in flushes of at most the maximum size, no matter how many there are', async () => {
    const { record, writer, seen, jobId } = await bench(50, { flushMaxItems: 7, flushConcurrency: 1 });
    record(...Array.from({ length: 45 }, (_, seq) => done(seq)));
    await writer.drain();
    expect(Math.max(...seen('flush.committed').map((flush) => flush.items))).toBe(7);
    expect(seen('flush.committed').reduce((sum, flush) => sum + flush.items, 0)).toBe(45);
    expect(await resultsOf(jobId)).toHaveLength(45);
    expect(await ledgerOf(jobId)).toMatchObject({ done: 45 });
  });
});

describe('outcomes of other kinds', () => {
  const failure = { class: 'overloaded' as const, message: 'busy', retryAfterMs: null };

  it('become a span of the next phase and spans of retries', async () => {
    const { record, writer, jobId, mayFinish } = await bench(3, {}, { phases: ['first', 'second'] });
    record(
      { ...done(0), kind: 'advance' },
      { ...done(1), kind: 'advance' },
      { seq: 2, kind: 'retry', status: 'ERROR', json: null, failure, delayMs: 60_000, handlerMs: 1 },
    );
    await writer.drain();
    expect(await spanItemsOf(jobId)).toEqual([
      { items: '{[0,2)}', phase: 1, attempt: 0, leased: false },
      { items: '{[2,3)}', phase: 0, attempt: 1, leased: false },
    ]);
    expect(await ledgerOf(jobId)).toMatchObject({ done: 0, advanced: 2, retried: 1 });
    expect(
      await database.query('select seq::int, error from attempt_errors where job_id = $1', [jobId]),
    ).toEqual([{ seq: 2, error: 'busy' }]);
    expect(mayFinish).toEqual([]);
  });
});

describe('an outcome that the database rejects', () => {
  const unstorable = '{"a":"\\u0000"}';

  it.each([
    ['the first', 0],
    ['one in the middle', 4],
    ['the last', 7],
  ])('is isolated by splitting and recorded as failed: %s', async (_, bad) => {
    const { record, whenSettled, seen, jobId } = await bench(8);
    record(...Array.from({ length: 8 }, (_, seq) => done(seq, seq === bad ? unstorable : undefined)));
    await whenSettled;
    expect(seen('flush.split').map((split) => split.items)).toEqual([8, 4, 2, 1]);
    expect(seen('flush.rolled_back').every((flush) => flush.kind === 'data')).toBe(true);
    expect(seen('flush.committed')).toMatchObject([{ items: 8, ended: { DONE: 7, ERROR: 1 } }]);
    const results = await resultsOf(jobId);
    expect(results.filter((row) => row.status === 'DONE').map((row) => row.seq)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7].filter((seq) => seq !== bad),
    );
    expect(results[bad]).toEqual({
      seq: bad,
      status: 'ERROR',
      result: null,
      error_class: 'permanent',
      error: 'the outcome cannot be stored: unsupported Unicode escape sequence',
    });
    expect(await ledgerOf(jobId)).toMatchObject({ done: 7, error: 1 });
    expect(await spanItemsOf(jobId)).toEqual([]);
  });

  it('does not keep others from being stored, even if there are several', async () => {
    const { record, whenSettled, jobId } = await bench(20);
    const bad = [0, 1, 7, 13, 19];
    record(...Array.from({ length: 20 }, (_, seq) => done(seq, bad.includes(seq) ? unstorable : undefined)));
    await whenSettled;
    const failed = (await resultsOf(jobId)).filter((row) => row.status === 'ERROR').map((row) => row.seq);
    expect(failed).toEqual(bad);
    expect(await ledgerOf(jobId)).toMatchObject({ done: 15, error: 5 });
  });

  it('may be an error message that contains NUL', async () => {
    const { record, whenSettled, jobId } = await bench(2);
    const failure = { class: 'permanent' as const, message: 'a\0b', retryAfterMs: null };
    record(done(0), {
      seq: 1,
      kind: 'terminal',
      status: 'ERROR',
      json: null,
      failure,
      delayMs: 0,
      handlerMs: 1,
    });
    await whenSettled;
    expect(await resultsOf(jobId)).toMatchObject([
      { seq: 0, status: 'DONE' },
      { seq: 1, status: 'ERROR', error: expect.stringContaining('the outcome cannot be stored') },
    ]);
  });

  // Cannot happen while the invariants hold. If it does, the worker must not hold the item forever.
  it('does not hang when not even its failure can be stored', async () => {
    const { record, writer, backlog, jobId, lost } = await bench(2);
    await database.query(
      `insert into result_rows (job_id, seq, generation, phase, attempt, status) values ($1, 1, 1, 0, 1, 'DONE')`,
      [jobId],
    );
    record(done(0), done(1));
    await writer.drain();
    expect({ backlog: backlog.items, lost: lost.length }).toEqual({ backlog: 0, lost: 1 });
  });
});

describe('a flush that fails with a transient error', () => {
  it('is retried whole until the database accepts it', async () => {
    await database.query('create sequence flush_tries');
    await database.query(`
      create function refuse_flush() returns trigger language plpgsql as $$
      begin
        if nextval('flush_tries') <= 3 then
          raise exception 'could not serialize access' using errcode = '40001';
        end if;
        return new;
      end $$`);
    await database.query(
      'create trigger refuse before insert on ledger for each row execute function refuse_flush()',
    );
    try {
      const { record, whenSettled, seen, jobId } = await bench(5);
      record(...Array.from({ length: 5 }, (_, seq) => done(seq)));
      await whenSettled;
      expect(seen('flush.rolled_back')).toMatchObject(Array(3).fill({ items: 5, kind: 'passing' }));
      expect(seen('flush.split')).toEqual([]);
      expect(seen('flush.committed')).toMatchObject([{ items: 5 }]);
      expect(await ledgerOf(jobId)).toMatchObject({ entries: 1, done: 5 });
      expect(await resultsOf(jobId)).toHaveLength(5);
    } finally {
      await database.query('drop trigger refuse on ledger');
    }
  });

  it('is not written twice when only the reply to its COMMIT was lost', async () => {
    let replies = 0;
    const losingFirstReply = (db: Database): Database =>
      new Proxy(db, {
        get(target, property) {
          const method = Reflect.get(target, property).bind(target);
          // The flush is one statement, or a transaction of several.
          if (property !== 'transaction' && property !== 'runArrays') return method;
          return async (...parameters: unknown[]) => {
            const value = await method(...parameters);
            replies += 1;
            if (replies === 1) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
            return value;
          };
        },
      });
    const { record, whenSettled, seen, jobId, mayFinish, lost } = await bench(
      4,
      {},
      { wrap: losingFirstReply },
    );
    record(...Array.from({ length: 4 }, (_, seq) => logged(seq)));
    await whenSettled;
    expect(seen('flush.rolled_back')).toMatchObject([{ kind: 'passing' }]);
    expect(seen('flush.fenced')).toEqual([]);
    expect(lost).toEqual([]);
    expect(await ledgerOf(jobId)).toMatchObject({ entries: 1, done: 4 });
    expect(await tracesOf(jobId)).toEqual([0, 1, 2, 3].map((seq) => ({ seq, log: '[]' })));
    expect(mayFinish).toEqual([jobId]);
  });

  it('is reported as unpersisted when the deadline of a drain passes first', async () => {
    const failing = (db: Database): Database =>
      new Proxy(db, {
        get(target, property) {
          if (property !== 'transaction') return Reflect.get(target, property).bind(target);
          return () =>
            Promise.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
        },
      });
    const { record, writer, jobId, seen } = await bench(5, {}, { wrap: failing });
    record(done(0), done(1), done(3));
    writer.abort();
    await writer.drain();
    expect(await resultsOf(jobId)).toEqual([]);
    expect(seen('flush.committed')).toEqual([]);
    expect(writer.unpersisted()).toEqual([{ jobId, seqs: '{[0,2),[3,4)}', items: 3 }]);
  });
});

describe('a lease that was lost', () => {
  it('is fenced: only the count of late outcomes is written', async () => {
    const { record, whenSettled, seen, jobId, lost, lease, mayFinish, backlog } = await bench(4);
    await database.query('update spans set token = gen_random_uuid() where job_id = $1', [jobId]);
    record(...Array.from({ length: 4 }, (_, seq) => logged(seq)));
    await whenSettled;
    expect(seen('flush.fenced')).toEqual([{ jobId, items: 4 }]);
    expect(await tracesOf(jobId)).toEqual([]);
    expect(lost).toEqual([lease]);
    expect(await resultsOf(jobId)).toEqual([]);
    expect(await ledgerOf(jobId)).toMatchObject({ done: 0, fenced: 4 });
    expect(await spanItemsOf(jobId)).toMatchObject([{ items: '{[0,4)}', leased: true }]);
    expect(mayFinish).toEqual([]);
    expect(backlog.items).toBe(0);
  });

  it('is fenced if only some of its items were taken away', async () => {
    const { record, whenSettled, jobId, lost } = await bench(4);
    await database.query(`update spans set items = '{[0,2)}', item_count = 2 where job_id = $1`, [jobId]);
    record(...Array.from({ length: 4 }, (_, seq) => done(seq)));
    await whenSettled;
    expect(lost).toHaveLength(1);
    expect(await resultsOf(jobId)).toEqual([]);
  });

  it('does not affect another lease in the same flush', async () => {
    const { writer, open, context, jobId, lease, lost, record, whenSettled } = await bench(
      4,
      {},
      { claiming: true },
    );
    const second = open(await claimMore(context, jobId, 4, 8));
    await database.query('update spans set token = gen_random_uuid() where span_id = $1', [
      lease.claim.spanId,
    ]);
    record(...[0, 1, 2, 3].map((seq) => done(seq)));
    for (const seq of [4, 5, 6, 7]) writer.record(second, done(seq));
    await writer.drain();
    await whenSettled;
    expect(lost).toEqual([lease]);
    expect((await resultsOf(jobId)).map((row) => row.seq)).toEqual([4, 5, 6, 7]);
    expect(await ledgerOf(jobId)).toMatchObject({ done: 4, fenced: 4 });
  });

  it('records nothing once the keeper has reported the loss', async () => {
    const { record, writer, backlog, lease, seen, jobId, lost } = await bench(4);
    record(done(0));
    writer.lose(lease);
    writer.lose(lease);
    record(done(1));
    expect(backlog.items).toBe(0);
    expect(lost).toEqual([lease]);
    expect(seen('flush.fenced')).toEqual([
      { jobId, items: 1 },
      { jobId, items: 1 },
    ]);
    await writer.drain();
    expect(await resultsOf(jobId)).toEqual([]);
  });
});

describe('back-pressure', () => {
  it('starts at the bound and ends when the outcomes are written', async () => {
    const { record, writer, backlog } = await bench(10, { flushBacklogItems: 3 }, { claiming: true });
    record(done(0), done(1));
    expect(backlog.isFullAt(1)).toBe(false);
    expect(backlog.isFullAt(0.6)).toBe(true);
    record(done(2));
    expect(backlog.isFullAt(1)).toBe(true);
    await writer.drain();
    expect(backlog.isFullAt(1)).toBe(false);
  });
});

describe('items that were given up', () => {
  it('settle their lease once the rest is written', async () => {
    const { record, writer, whenSettled, lease, jobId } = await bench(4);
    record(done(0), done(1));
    writer.drop(lease, 2);
    await whenSettled;
    expect(lease.hasItemsToReturn).toBe(true);
    expect(writer.holds(jobId)).toBe(false);
    expect(await resultsOf(jobId)).toHaveLength(2);
  });
});

/** Adds items to the job and claims them as a lease of their own. */
async function claimMore(context: EngineContext, jobId: string, from: number, to: number): Promise<Claim> {
  await database.query(
    `insert into items (job_id, seq, input_bytes, input) select $1, n, 2, '{}' from generate_series($2::int, $3::int - 1) as n`,
    [jobId, from, to],
  );
  await database.query(
    `insert into spans (job_id, generation, phase, items, item_count) values ($1, 1, 0, int8multirange(int8range($2, $3)), $4)`,
    [jobId, from, to, to - from],
  );
  return claimWhole(context.db, claimRequest(jobId));
}

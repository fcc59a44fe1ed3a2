import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { toArguments } from '../../../../test/support/explain-statement.ts';
import {
  claimRequest,
  jobWithItems,
  replaceSpans,
  type SpanShape,
} from '../../../../test/support/job-factory.ts';
import { useTestDatabase } from '../../../../test/support/test-database.ts';
import {
  countSeqs,
  eachSeq,
  formatRanges,
  parseRanges,
  rangesOf,
  unionRanges,
} from '../../../core/items/seq-ranges.ts';
import type { EngineContext } from '../../../engine/engine-context.ts';
import { rescueLeases } from '../../../engine/flush/rescue-leases.ts';
import { type Executor, type Statement, sessionParameters } from '../../../platform/database.ts';
import { type ClaimedSpan, type ClaimRequest, claimItems } from './claim-items.ts';

const database = useTestDatabase();
let context: EngineContext;
beforeAll(() => {
  context = database.context();
});

interface SpanRow {
  id: number;
  items: string;
  count: number;
  leased: boolean;
}

function spansOf(jobId: string): Promise<SpanRow[]> {
  return database.query<SpanRow & Record<string, unknown>>(
    `select span_id::int as id, items::text, item_count::int as count, worker_id is not null as leased
     from spans where job_id = $1 order by items`,
    [jobId],
  );
}

async function jobWithSpans(items: number, spans: SpanShape[]): Promise<{ jobId: string; ids: number[] }> {
  const jobId = await jobWithItems(context, { items });
  return { jobId, ids: await replaceSpans(database, jobId, spans) };
}

async function claim(jobId: string, request: Partial<ClaimRequest> = {}): Promise<ClaimedSpan | null> {
  return claimItems(context.db, claimRequest(jobId, request));
}

async function claimed(jobId: string, request: Partial<ClaimRequest> = {}): Promise<string | null> {
  const made = await claim(jobId, request);
  return made === null ? null : formatRanges(made.ranges);
}

describe('a claim on a large span', () => {
  it('cuts its items off the front and leaves the rest in place', async () => {
    const { jobId, ids } = await jobWithSpans(100, [
      { items: '{[0,100)}', attempt: 2, crashes: 0, priority: 3 },
    ]);
    const request = claimRequest(jobId, { maxItems: 10 });
    const made = (await claimItems(context.db, request))!;
    expect(made).toMatchObject({
      jobId,
      token: request.token,
      generation: 1,
      phase: 0,
      attempt: 2,
      crashes: 0,
      priority: 3,
      itemCount: 10,
      ranges: [[0, 10]],
    });
    expect(made.items).toEqual(
      Array.from({ length: 10 }, (_, n) => ({ seq: n, input: `{"n": ${n}}`, previous: null, outputs: null })),
    );
    expect(made.spanId).not.toBe(ids[0]);
    expect(await spansOf(jobId)).toEqual([
      { id: made.spanId, items: '{[0,10)}', count: 10, leased: true },
      { id: ids[0], items: '{[10,100)}', count: 90, leased: false },
    ]);
    const [lease] = await database.query(
      `select worker_id, token, expires_at > now() + interval '50 seconds' and expires_at < now() + interval '70 seconds' as timed
       from spans where span_id = $1`,
      [made.spanId],
    );
    expect(lease).toEqual({ worker_id: request.workerId, token: request.token, timed: true });
  });

  it('cuts through a span of many pieces', async () => {
    const { jobId } = await jobWithSpans(40, [{ items: '{[0,3),[10,12),[20,30)}' }]);
    expect(await claimed(jobId, { maxItems: 4 })).toBe('{[0,3),[10,11)}');
    expect(await claimed(jobId, { maxItems: 3 })).toBe('{[11,12),[20,22)}');
    expect(await claimed(jobId, { maxItems: 100 })).toBe('{[22,30)}');
    expect(await claim(jobId)).toBeNull();
  });

  it('takes a whole span in place: the lease has its span id', async () => {
    const { jobId, ids } = await jobWithSpans(10, [{ items: '{[0,10)}' }]);
    const made = (await claim(jobId, { maxItems: 10 }))!;
    expect(made.spanId).toBe(ids[0]);
    expect(await spansOf(jobId)).toEqual([{ id: ids[0], items: '{[0,10)}', count: 10, leased: true }]);
  });
});

describe('a claim on small spans', () => {
  it('gathers those of the same kind into the row of the first', async () => {
    const { jobId, ids } = await jobWithSpans(30, [
      { items: '{[0,2)}', attempt: 1, readyInMs: -3000 },
      { items: '{[5,6)}', attempt: 1, readyInMs: -2000 },
      { items: '{[9,12)}', attempt: 1, readyInMs: -1000 },
    ]);
    const made = (await claim(jobId, { maxItems: 20 }))!;
    expect(made).toMatchObject({ spanId: ids[0], attempt: 1, itemCount: 6 });
    expect(made.items.map((item) => item.seq)).toEqual([0, 1, 5, 9, 10, 11]);
    expect(await spansOf(jobId)).toEqual([
      { id: ids[0], items: '{[0,2),[5,6),[9,12)}', count: 6, leased: true },
    ]);
  });

  it.each<[string, Partial<SpanShape>]>([
    ['attempt', { attempt: 2 }],
    ['crash count', { crashes: 1 }],
    ['priority', { priority: -1 }],
    ['phase', { phase: 1 }],
    ['generation', { generation: 2 }],
  ])('does not mix in another %s', async (_, other) => {
    const { jobId, ids } = await jobWithSpans(10, [
      { items: '{[0,2)}', attempt: 1, readyInMs: -3000 },
      { items: '{[5,6)}', attempt: 1, readyInMs: -2000, ...other },
    ]);
    expect(await claim(jobId)).toMatchObject({ spanId: ids[0], itemCount: 2, ranges: [[0, 2]] });
    expect(await spansOf(jobId)).toMatchObject([{ leased: true }, { id: ids[1], count: 1, leased: false }]);
  });

  it('takes no more than requested: the last one is cut, later ones are left', async () => {
    const { jobId, ids } = await jobWithSpans(30, [
      { items: '{[0,3)}', readyInMs: -3000 },
      { items: '{[10,13)}', readyInMs: -2000 },
      { items: '{[20,23)}', readyInMs: -1000 },
    ]);
    expect(await claim(jobId, { maxItems: 5 })).toMatchObject({ spanId: ids[0], itemCount: 5 });
    expect(await spansOf(jobId)).toEqual([
      { id: ids[0], items: '{[0,3),[10,12)}', count: 5, leased: true },
      { id: ids[1], items: '{[12,13)}', count: 1, leased: false },
      { id: ids[2], items: '{[20,23)}', count: 3, leased: false },
    ]);
  });

  it('skips those that another worker is cutting from, without waiting', async () => {
    const { jobId } = await jobWithSpans(30, [
      { items: '{[0,3)}', readyInMs: -3000 },
      { items: '{[10,13)}', readyInMs: -2000 },
    ]);
    await context.db.transaction(async (tx) => {
      await tx.run(
        {
          name: 'lock-first',
          text: `select 1 from spans where job_id = $1 and items @> 0::bigint for update`,
        },
        [jobId],
      );
      expect(await claimed(jobId)).toBe('{[10,13)}');
    });
    expect(await claimed(jobId)).toBe('{[0,3)}');
  });

  it('locks only as many as it needs', async () => {
    const { jobId } = await jobWithSpans(40, [
      { items: '{[0,3)}', readyInMs: -4000 },
      { items: '{[10,13)}', readyInMs: -3000 },
      { items: '{[20,23)}', readyInMs: -2000 },
      { items: '{[30,33)}', readyInMs: -1000 },
    ]);
    await context.db.transaction(async (tx) => {
      const made = await claimItems(tx, claimRequest(jobId, { maxItems: 6 }));
      expect(made!.ranges).toEqual([
        [0, 3],
        [10, 13],
      ]);
      expect(await claimed(jobId)).toBe('{[20,23),[30,33)}');
    });
  });
});

// Gathering would merge the halves of a crashed lease again, and the culprit would never be isolated.
describe('the halves of a crashed lease', () => {
  it('are claimed one by one', async () => {
    const { jobId } = await jobWithSpans(30, [
      { items: '{[0,3)}', crashes: 1, readyInMs: -3000 },
      { items: '{[10,13)}', crashes: 1, readyInMs: -2000 },
    ]);
    expect(await claimed(jobId, { maxItems: 100 })).toBeNull();
    expect(await claimed(jobId, { maxItems: 100, suspects: true })).toBe('{[0,3)}');
  });

  it('become smaller with every crash, until one item is failed', async () => {
    const { jobId } = await jobWithSpans(8, [{ items: '{[0,8)}' }]);
    const culprit = 5;
    let crashes = 0;
    for (;;) {
      const made =
        (await claim(jobId, { maxItems: 100, suspects: true })) ?? (await claim(jobId, { maxItems: 100 }));
      if (made === null) break;
      if (made.items.some((item) => item.seq === culprit)) {
        crashes += 1;
        await database.query('update spans set expires_at = now() where span_id = $1', [made.spanId]);
        await rescueLeases(context);
        if (crashes > 6) break;
      } else await database.query('delete from spans where span_id = $1', [made.spanId]);
    }
    expect(crashes).toBeLessThanOrEqual(6);
    const failed = await database.query('select seq::int from results where job_id = $1', [jobId]);
    expect(failed).toEqual([{ seq: culprit }]);
  });
});

describe('the byte bound', () => {
  const inputs = { items: 20, input: (n: number) => ({ text: 'x'.repeat(n === 0 ? 5000 : 100) }) };

  it('returns at least one item of any size', async () => {
    const jobId = await jobWithItems(context, inputs);
    const made = (await claim(jobId, { maxItems: 10, maxBytes: 1 }))!;
    expect(made.items.map((item) => item.seq)).toEqual([0]);
    expect(made).toMatchObject({ itemCount: 10, ranges: [[0, 10]] });
  });

  it('counts bytes of stored input and includes the item that exceeds it', async () => {
    const jobId = await jobWithItems(context, { items: 20, input: () => ({ text: 'ä'.repeat(50) }) });
    const bytes = Buffer.byteLength(JSON.stringify({ text: 'ä'.repeat(50) }));
    expect((await claim(jobId, { maxItems: 10, maxBytes: bytes * 3 }))!.items).toHaveLength(3);
    expect((await claim(jobId, { maxItems: 10, maxBytes: bytes * 3 + 1 }))!.items).toHaveLength(4);
  });

  it('counts the output of the previous phase, which is held in memory too', async () => {
    const jobId = await jobWithItems(context, { items: 10, phases: ['first', 'second'] });
    await replaceSpans(database, jobId, [{ items: '{[0,10)}', phase: 1 }]);
    await database.query(
      `insert into stage_outputs (job_id, seq, generation, phase, output_bytes, output)
       select $1, n, 1, 0, 5002, to_jsonb(repeat('x', 5000)) from generate_series(0, 9) as n`,
      [jobId],
    );
    const made = await claim(jobId, { phase: 1, maxBytes: 5000 });
    expect(made!.items).toHaveLength(1);
  });
});

describe('claimable work', () => {
  it('excludes spans that are not ready', async () => {
    const { jobId, ids } = await jobWithSpans(10, [{ items: '{[0,10)}', readyInMs: 3_600_000 }]);
    expect(await claim(jobId)).toBeNull();
    await database.query('update spans set ready_at = now() where span_id = $1', [ids[0]]);
    expect(await claimed(jobId)).toBe('{[0,10)}');
  });

  it('is ordered by priority, then by ready time, then by age', async () => {
    const { jobId } = await jobWithSpans(50, [
      { items: '{[0,10)}', readyInMs: -1000, attempt: 0 },
      { items: '{[10,20)}', readyInMs: -9000, attempt: 1 },
      { items: '{[20,30)}', readyInMs: -10, priority: 5 },
      { items: '{[30,40)}', readyInMs: 3_600_000, priority: 9 },
    ]);
    const order = [await claimed(jobId), await claimed(jobId), await claimed(jobId), await claimed(jobId)];
    expect(order).toEqual(['{[20,30)}', '{[10,20)}', '{[0,10)}', null]);
  });

  it.each(['INGESTING', 'QUEUED', 'RUNNING'])('exists while the job is %s', async (state) => {
    const jobId = await jobWithItems(context, { items: 3 });
    await database.query('update jobs set state = $2 where job_id = $1', [jobId, state]);
    expect(await claimed(jobId)).toBe('{[0,3)}');
  });

  it.each(['PAUSED', 'FINALIZING', 'DONE', 'FAILED', 'CANCELLED'])(
    'is empty while the job is %s',
    async (state) => {
      const jobId = await jobWithItems(context, { items: 3 });
      await database.query('update jobs set state = $2 where job_id = $1', [jobId, state]);
      expect(await claim(jobId)).toBeNull();
    },
  );

  it('belongs to the requested phase and includes the output of the previous phase', async () => {
    const jobId = await jobWithItems(context, { items: 6, phases: ['first', 'second'] });
    await replaceSpans(database, jobId, [{ items: '{[0,3)}' }, { items: '{[3,6)}', phase: 1 }]);
    await database.query(
      `insert into stage_outputs (job_id, seq, generation, phase, output_bytes, output)
       select $1, seq, generation, phase, 30, jsonb_build_object('seq', seq, 'g', generation, 'p', phase)
       from generate_series(3, 4) as seq, generate_series(1, 2) as generation, generate_series(0, 1) as phase`,
      [jobId],
    );
    const made = (await claim(jobId, { phase: 1 }))!;
    expect(made).toMatchObject({ phase: 1, ranges: [[3, 6]] });
    expect(made.items.map((item) => item.previous && JSON.parse(item.previous))).toEqual([
      { seq: 3, g: 1, p: 0 },
      { seq: 4, g: 1, p: 0 },
      null,
    ]);
    expect(await claim(jobId, { phase: 2 })).toBeNull();
    expect(await claimed(jobId)).toBe('{[0,3)}');
  });

  it('includes the newest outputs of all earlier phases if they are wanted, and counts their bytes', async () => {
    const jobId = await jobWithItems(context, { items: 3, phases: ['first', 'second', 'third'] });
    await replaceSpans(database, jobId, [{ items: '{[0,3)}', phase: 2, generation: 2 }]);
    await database.query(
      `insert into stage_outputs (job_id, seq, generation, phase, output_bytes, output)
       select $1, seq, generation, phase, 1000, case when phase = 1 then to_jsonb(generation) end
       from generate_series(0, 1) as seq, generate_series(1, 3) as generation, generate_series(0, 2) as phase`,
      [jobId],
    );
    const made = (await claim(jobId, { phase: 2, readsOutputs: true, maxBytes: 3000 }))!;
    expect(made.items.map(({ seq, previous, outputs }) => [seq, previous, JSON.parse(outputs!)])).toEqual([
      [0, null, { 0: null, 1: 2 }],
      [1, null, { 0: null, 1: 2 }],
    ]);
    await replaceSpans(database, jobId, [{ items: '{[2,3)}', phase: 2 }]);
    expect(await claim(jobId, { phase: 2, readsOutputs: true, hasEdits: false })).toMatchObject({
      items: [{ seq: 2, previous: null, outputs: '{}' }],
    });
  });

  it('is empty for a job that does not exist', async () => {
    expect(await claim('00000000-0000-4000-8000-000000000000')).toBeNull();
  });
});

describe('any sequence of claims on any spans', () => {
  const span = fc.record({
    seqs: fc.uniqueArray(fc.nat({ max: 29 }), { minLength: 1, maxLength: 12 }),
    attempt: fc.nat({ max: 1 }),
    priority: fc.nat({ max: 1 }),
    readyInMs: fc.constantFrom(-2000, -1000, 3_600_000),
  });

  it('leases every ready item exactly once and loses none', async () => {
    database.keepIfFailed();
    const jobId = await jobWithItems(context, { items: 30 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(span, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
        async (shapes, sizes) => {
          const free = new Set(Array.from({ length: 30 }, (_, n) => n));
          const spans: (SpanShape & { ready: boolean })[] = [];
          for (const { seqs, ...rest } of shapes) {
            const own = seqs.filter((seq) => free.delete(seq));
            if (own.length > 0)
              spans.push({ ...rest, items: formatRanges(rangesOf(own)), ready: rest.readyInMs < 0 });
          }
          await replaceSpans(database, jobId, spans);
          const all = spans.reduce((sum, { items }) => unionRanges(sum, parseRanges(items)), rangesOf([]));
          const ready = spans
            .filter((each) => each.ready)
            .reduce((sum, { items }) => unionRanges(sum, parseRanges(items)), rangesOf([]));
          const seen: number[] = [];
          for (let i = 0; ; i += 1) {
            const maxItems = sizes[i % sizes.length]!;
            const made = await claim(jobId, { maxItems });
            if (made === null) break;
            expect(made.itemCount).toBeLessThanOrEqual(maxItems);
            expect(made.itemCount).toBe(countSeqs(made.ranges));
            expect(made.items.map((item) => item.seq)).toEqual([...eachSeq(made.ranges)]);
            seen.push(...eachSeq(made.ranges));
            const rows = await spansOf(jobId);
            const sum = rows.reduce((total, row) => total + row.count, 0);
            const union = rows.reduce(
              (total, row) => unionRanges(total, parseRanges(row.items)),
              rangesOf([]),
            );
            expect(union).toEqual(all);
            expect(sum).toBe(countSeqs(all));
          }
          expect(seen).toHaveLength(new Set(seen).size);
          expect(rangesOf(seen)).toEqual(ready);
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('the plan of a claim', () => {
  const ITEMS = 100_000;
  let jobId: string;

  // A hundred thousand items of one job; the planner expects ten.
  beforeAll(async () => {
    for (const table of ['items', 'stage_outputs', 'spans'])
      await database.query(`alter table ${table} set (autovacuum_enabled = false)`);
    jobId = await jobWithItems(context, { items: 10, phases: ['first', 'second'] });
    await database.query('analyze items, spans, stage_outputs');
    await database.query(
      `insert into items (job_id, seq, input_bytes, input) select $1, n, 9, '{"n": 1}' from generate_series(10, $2::int - 1) as n`,
      [jobId, ITEMS],
    );
    await database.query(
      `insert into stage_outputs (job_id, seq, generation, phase, output_bytes, output) select $1, n, 1, 0, 2, '{}' from generate_series(0, $2::int - 1) as n`,
      [jobId, ITEMS],
    );
    await replaceSpans(database, jobId, [{ items: `{[0,${ITEMS})}` }, { items: `{[0,${ITEMS})}`, phase: 1 }]);
  });

  interface PlanNode {
    'Node Type': string;
    'Relation Name'?: string;
    'Actual Rows': number;
    'Actual Loops': number;
    'Rows Removed by Filter'?: number;
    'Rows Removed by Index Recheck'?: number;
    Plans?: PlanNode[];
  }

  function* nodes(plan: PlanNode): Generator<PlanNode> {
    yield plan;
    for (const child of plan.Plans ?? []) yield* nodes(child);
  }

  /** Runs the exact statement of claimItems as a generic plan, and rolls it back. */
  async function explain(request: ClaimRequest): Promise<PlanNode> {
    let sent: { text: string; values: unknown[] } | null = null;
    const recorder = {
      run: async ({ text }: Statement, values: unknown[] = []) => {
        sent = { text, values };
        return { rows: [] };
      },
    } as unknown as Executor;
    await claimItems(recorder, request);
    const { text, values } = sent!;
    await database.query('begin');
    try {
      for (const [name, value] of sessionParameters({ keyedAccess: true, deadlineMs: 60_000 }))
        await database.query(`set local ${name} = ${value}`);
      await database.query(`prepare explained as ${text}`);
      const rows = await database.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, timing off, format json) execute explained${toArguments(values)}`,
      );
      return rows[0]!['QUERY PLAN'][0].Plan;
    } finally {
      await database.query('rollback');
      await database.query('deallocate all');
    }
  }

  const statistics = {
    'of a table that was almost empty': async () => {},
    'of the table as it is': async () => {
      await database.query('analyze items, spans, stage_outputs');
    },
  };

  for (const [when, prepare] of Object.entries(statistics)) {
    it.each([
      [0, false],
      [1, false],
      [1, true],
    ])(
      `reads only the claimed rows with statistics ${when}: phase %d, all outputs: %s`,
      async (phase, readsOutputs) => {
        await prepare();
        const bounds = { maxItems: 200, maxBytes: 16_777_216 };
        const plan = await explain(claimRequest(jobId, { phase, readsOutputs, ...bounds }));
        for (const table of phase === 0 ? ['items'] : ['items', 'stage_outputs']) {
          const scans = [...nodes(plan)].filter((node) => node['Relation Name'] === table);
          expect(scans.length).toBeGreaterThan(0);
          for (const scan of scans) {
            expect(scan['Node Type']).toMatch(/^Index/);
            const read =
              scan['Actual Rows'] +
              (scan['Rows Removed by Filter'] ?? 0) +
              (scan['Rows Removed by Index Recheck'] ?? 0);
            expect(read * scan['Actual Loops']).toBeLessThanOrEqual(200);
          }
        }
      },
    );
  }
});

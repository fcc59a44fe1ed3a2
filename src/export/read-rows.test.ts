import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jobWithItems } from '../../test/support/job-factory.ts';
import { type SeededResult, seedResults } from '../../test/support/seed-results.ts';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { errorSignature } from '../core/errors/error-signature.ts';
import type { ExportFilter } from '../core/files/export-filter.ts';
import type { ExportRow } from '../core/files/export-row.ts';
import type { ItemStatus } from '../core/items/outcome.ts';
import { rangesOf } from '../core/items/seq-ranges.ts';
import type { Executor, Statement } from '../platform/database.ts';
import { type RowsRequest, readRows } from './read-rows.ts';

const database = useTestDatabase();

async function read(
  db: Executor,
  request: Partial<RowsRequest> & { jobId: string; itemCount: number },
): Promise<ExportRow[]> {
  const rows: ExportRow[] = [];
  for await (const page of readRows(db, {
    generation: 1,
    filter: {},
    pageRows: 7,
    afterSeq: -1,
    ...request,
  })) {
    expect(page.length).toBeGreaterThan(0);
    expect(page.length).toBeLessThanOrEqual(request.pageRows ?? 7);
    rows.push(...page);
  }
  return rows;
}

/** Records the statements and the number of rows that they return. */
function watched(db: Executor): Executor & { sent: { name: string; values: unknown[]; rows: number }[] } {
  const sent: { name: string; values: unknown[]; rows: number }[] = [];
  return {
    sent,
    run: (statement, values) => db.run(statement, values),
    runArrays: async (statement: Statement, values: unknown[] = []) => {
      const rows = await db.runArrays(statement, values);
      sent.push({ name: statement.name, values, rows: rows.length });
      return rows;
    },
  };
}

const STATUSES: ItemStatus[] = ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'];
const WORDS = [
  ...['lamp', 'LAMP', '50%', 'a_b', 'axb', '"q"', 'back\\slash', '\u212aelvin', 'İstanbul', 'straße', 'Öl'],
  ...['x, y', 'e', '1e+21', 'tab\there'],
];

describe('readRows', () => {
  it('finds the same rows as a plain filter over all rows, in the same order', async () => {
    const context = database.context();
    const items = 120;
    const word = fc.constantFrom(...WORDS);
    const value = fc.oneof(
      word,
      word,
      fc.integer({ min: 0, max: 30 }),
      fc.constant(1e21),
      fc.constant(null),
      fc.record({ w: word }),
    );
    const [inputs] = fc.sample(
      fc.array(fc.record({ name: value, note: value }), { minLength: items, maxLength: items }),
      { numRuns: 1, seed: 42 },
    );
    const jobId = await jobWithItems(context, { items, phases: ['a', 'b'], input: (n) => inputs![n]! });
    const outcome = fc.record({
      seq: fc.integer({ min: 0, max: items - 1 }),
      generation: fc.integer({ min: 1, max: 3 }),
      status: fc.constantFrom(...STATUSES),
      phase: fc.integer({ min: 0, max: 1 }),
      word,
      n: fc.integer({ min: 0, max: 3 }),
    });
    const [drawn] = fc.sample(
      fc.uniqueArray(outcome, {
        minLength: 200,
        maxLength: 200,
        selector: (each) => `${each.seq} ${each.generation}`,
      }),
      { numRuns: 1, seed: 43 },
    );
    const results: SeededResult[] = drawn!.map(({ word: text, n, ...rest }) => ({
      ...rest,
      result: rest.status === 'DONE' ? { answer: text, n } : undefined,
      errorClass: rest.status === 'ERROR' ? 'timeout' : rest.status === 'NOT_FOUND' ? 'not_found' : null,
      error:
        rest.status === 'ERROR' || rest.status === 'NOT_FOUND'
          ? `no ${n === 0 ? text : 'answer'} within ${n} ms`
          : null,
    }));
    await seedResults(database, jobId, results);

    const shown = (seq: number, generation: number): SeededResult | undefined =>
      results
        .filter((each) => each.seq === seq && each.generation! <= generation)
        .sort((a, b) => b.generation! - a.generation!)[0];
    const visible = (cell: unknown): string =>
      cell === null || cell === undefined ? '' : typeof cell === 'string' ? cell : JSON.stringify(cell);
    const expected = (generation: number, filter: ExportFilter, afterSeq: number): number[] =>
      inputs!.flatMap((input, seq) => {
        const result = shown(seq, generation);
        const texts = [
          input.name,
          input.note,
          ...Object.values((result?.result as object | undefined) ?? {}),
        ].map(visible);
        if (result?.error) texts.push(result.error);
        const fits =
          seq > afterSeq &&
          (!filter.statuses || filter.statuses.includes(result?.status ?? 'PENDING')) &&
          (filter.phase === undefined || result?.phase === filter.phase) &&
          (!filter.errorGroup ||
            (!!result?.error && errorSignature(result.errorClass!, result.error) === filter.errorGroup)) &&
          (!filter.search ||
            texts.some((text) => text.toLowerCase().includes(filter.search!.toLowerCase()))) &&
          (!filter.seqs || filter.seqs.some(([from, to]) => seq >= from && seq < to));
        return fits ? [seq] : [];
      });

    const filter = fc.record(
      {
        statuses: fc.uniqueArray(fc.constantFrom<ItemStatus | 'PENDING'>('PENDING', ...STATUSES), {
          minLength: 1,
        }),
        phase: fc.integer({ min: 0, max: 1 }),
        errorGroup: fc.constantFrom(
          'timeout: no answer within <n> ms',
          'not_found: no answer within <n> ms',
          'timeout: other',
          'x',
        ),
        search: fc.oneof(
          word,
          fc.constantFrom(
            'amp',
            '%',
            '_',
            '\\',
            '"',
            'answer',
            '1',
            'w":',
            'within',
            'kelvin',
            'i\u0307stan',
            'ß',
            'null',
          ),
        ),
        seqs: fc
          .array(fc.integer({ min: 0, max: items + 5 }), { maxLength: 30 })
          .map((seqs) => rangesOf(seqs)),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(
        filter,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: -1, max: items }),
        fc.boolean(),
        async (asked, generation, pageRows, afterSeq, cellsOnly) => {
          const rows = await read(context.db, {
            jobId,
            generation,
            filter: asked,
            pageRows,
            afterSeq,
            itemCount: items,
            cellsOnly,
          });
          expect(rows.map((row) => row.seq)).toEqual(expected(generation, asked, afterSeq));
          for (const row of rows) {
            const result = shown(row.seq, generation);
            expect(row.status).toBe(result?.status ?? 'PENDING');
            expect(row.attempts).toBe(result ? 1 : null);
            expect(JSON.parse(row.inputJson)).toEqual(inputs![row.seq]);
            expect(row.resultJson === null ? undefined : JSON.parse(row.resultJson)).toEqual(result?.result);
          }
        },
      ),
      { numRuns: 400 },
    );
  });

  it('reads failed rows without scanning the others, and searches window by window', async () => {
    const context = database.context();
    const items = 50_000;
    const jobId = await jobWithItems(context, { items: 0 });
    await database.query(
      `insert into items (job_id, seq, input_bytes, input)
       select $1, n, 20, jsonb_build_object('n', n, 'w', case when n = 45000 then 'needle' else 'hay' end)
       from generate_series(0, $2::int - 1) as n`,
      [jobId, items],
    );
    await database.query(
      `insert into result_rows (job_id, seq, generation, phase, attempt, status, error_class, error)
       select $1, n, 1, 0, 1, case when n % 10000 = 0 then 'ERROR' else 'DONE' end::item_status, null, null
       from generate_series(0, $2::int - 1) as n`,
      [jobId, items],
    );
    const failed = watched(context.db);
    const found = await read(failed, {
      jobId,
      itemCount: items,
      filter: { statuses: ['ERROR'] },
      pageRows: 1000,
    });
    expect(found.map((row) => row.seq)).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
    expect(failed.sent.map(({ name, rows }) => [name, rows])).toEqual([
      ['export-not-done-page', 5],
      ['export-not-done-page', 0],
    ]);

    const searching = watched(context.db);
    const needles = await read(searching, {
      jobId,
      itemCount: items,
      filter: { search: 'NEEDLE' },
      pageRows: 1000,
    });
    expect(needles.map((row) => row.seq)).toEqual([45_000]);
    for (const { values } of searching.sent)
      expect(Number(values[3]) - Number(values[2])).toBeLessThanOrEqual(20_000);
    expect(searching.sent).toHaveLength(4);
    expect(searching.sent.reduce((sum, each) => sum + each.rows, 0)).toBe(1);
  });

  it('reads fewer rows at a time when they are large, on every path', async () => {
    const context = database.context();
    const large = 'y'.repeat(400_000);
    const input = await jobWithItems(context, { items: 90, input: (n) => ({ text: n < 30 ? 'x' : large }) });
    const all = Array.from({ length: 90 }, (_, seq) => seq);
    await seedResults(
      database,
      input,
      all.map((seq) => ({ seq, status: 'ERROR', error: 'no' })),
    );
    const result = await jobWithItems(context, { items: 90 });
    await seedResults(
      database,
      result,
      all
        .filter((seq) => seq !== 50)
        .map((seq) => ({ seq, status: 'SKIPPED', result: { text: seq < 30 ? 'x' : large } })),
    );
    const pagesOf = async (
      jobId: string,
      filter: ExportFilter,
      generation: number,
    ): Promise<ExportRow[][]> => {
      const pages: ExportRow[][] = [];
      const request = { jobId, generation, filter, pageRows: 2000, afterSeq: -1, itemCount: 90 };
      for await (const page of readRows(context.db, request)) pages.push(page);
      return pages;
    };
    const filters: ExportFilter[] = [
      {},
      { search: 'Y' },
      { statuses: ['ERROR', 'SKIPPED'] },
      { seqs: [[0, 90]] },
    ];
    for (const jobId of [input, result]) {
      for (const filter of filters) {
        for (const generation of [1, 2]) {
          const pages = await pagesOf(jobId, filter, generation);
          const wanted = all.filter(
            (seq) =>
              (filter.search ? seq >= 30 : true) &&
              (jobId === input || seq !== 50 || !(filter.search || filter.statuses)),
          );
          expect(pages.flat().map((row) => row.seq)).toEqual(wanted);
          expect(Math.max(...pages.slice(1).map((page) => page.length))).toBeLessThanOrEqual(11);
          expect(pages[0]!.length).toBeLessThanOrEqual(41);
          const [row50] = pages.flat().filter((row) => row.seq === 50);
          if (jobId === result && row50) expect(row50.status).toBe('PENDING');
          for (const row of pages.flat()) if (row.seq !== 50) expect(row.status).not.toBe('PENDING');
        }
      }
    }
  });

  it('aborts with the reason of its signal', async () => {
    const context = database.context();
    const jobId = await jobWithItems(context, { items: 50 });
    const stop = new AbortController();
    const rows = readRows(context.db, {
      jobId,
      generation: 1,
      filter: {},
      pageRows: 10,
      afterSeq: -1,
      itemCount: 50,
      signal: stop.signal,
    });
    await rows.next();
    stop.abort(new Error('enough'));
    await expect(rows.next()).rejects.toThrow('enough');
  });
});

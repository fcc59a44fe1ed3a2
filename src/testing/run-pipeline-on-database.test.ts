// A pipeline has the same outcomes in virtual time as with a real worker on a real database.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { defineCounter } from '../core/items/counter.ts';
import { fail, notFound, retryLater, skip } from '../core/items/outcome.ts';
import { definePipeline } from '../pipeline/define-pipeline.ts';
import type { PipelineRun } from './pipeline-run.ts';
import { runPipeline } from './run-pipeline.ts';
import { runPipelineOnDatabase } from './run-pipeline-on-database.ts';

const database = useTestDatabase();

const soon = { baseMs: 1, factor: 1, capMs: 1 };
const retry = {
  throttled: { ...soon, maxAttempts: 4 },
  overloaded: soon,
  not_found: soon,
  timeout: { ...soon, maxAttempts: 2 },
};

function httpError(status: number): Error {
  return Object.assign(new Error(`the service answered ${status}`), { status });
}

const mixed = definePipeline({
  name: 'mixed',
  input: z.object({ kind: z.string().min(1), n: z.coerce.number() }),
  phases: [
    {
      name: 'first',
      retry,
      timeoutMs: 100,
      run: ({ kind, n }, { attempt, log }) => {
        if (kind === 'late first') return attempt < 3 ? Promise.reject(httpError(503)) : { n, attempt };
        if (kind === 'not found') return notFound(`no ${n}`);
        if (kind === 'hangs') return new Promise<{ n: number; attempt: number }>(() => {});
        if (kind === 'logs') log.info({ n }, 'seen');
        return { n, attempt };
      },
    },
    {
      name: 'second',
      retry,
      classify: (error) => (String(error).includes('teapot') ? { class: 'invalid' } : undefined),
      run: async ({ kind, n }, { attempt, previous, idempotencyKey }) => {
        if (kind === 'late second') return attempt < 2 ? retryLater({ afterMs: 1 }) : { previous };
        if (kind === 'throttled') throw httpError(429);
        if (kind === 'teapot') throw new Error('I am a teapot');
        if (kind === 'skipped') return skip('not wanted');
        if (kind === 'failed') return fail(`row ${n} is wrong`);
        if (kind === 'not json') return { big: 5n };
        if (kind === 'nul') return '\0';
        if (kind === 'nothing') return undefined;
        return { previous, key: idempotencyKey.split(':').slice(1) };
      },
    },
  ],
});

const kinds = [
  ...['fine', 'late first', 'late second', 'not found', 'hangs', 'logs', 'throttled', 'teapot', 'skipped'],
  ...['failed', 'not json', 'nul', 'nothing', ''],
];
const rows = kinds.map((kind, n) => ({ kind, n: String(n) }));

/** The part of a run that does not depend on timing. */
function facts(run: PipelineRun) {
  return {
    counts: run.counts,
    results: run.results.map(({ history, ...result }) => ({
      ...result,
      failed: history
        .filter(({ error }) => error !== null)
        .map(({ phase, attempt, outcome, errorClass, error }) => [
          phase,
          attempt,
          outcome,
          errorClass,
          error,
        ]),
    })),
    errorGroups: run.errorGroups
      .map(
        ({ phase, signature, errorClass, occurrences }) =>
          `${phase} ${signature} ${errorClass} ${occurrences}`,
      )
      .sort(),
    logs: run.logs.map(({ level, message, fields }) => [
      level,
      message,
      fields.n,
      fields.seq,
      fields.attempt,
    ]),
  };
}

describe('a pipeline in virtual time', () => {
  it('has the same outcomes as on a database', async () => {
    const real = await runPipelineOnDatabase(mixed, rows, { databaseUrl: database.url });
    const virtual = await runPipeline(mixed, rows, { patienceMs: 50 });
    expect(facts(virtual)).toEqual(facts(real));
    expect(virtual.counts).toEqual({ DONE: 5, ERROR: 7, NOT_FOUND: 1, SKIPPED: 1, CANCELLED: 0 });
  });
});

const together = definePipeline({
  name: 'together',
  input: z.object({ kind: z.string().min(1), n: z.coerce.number() }),
  phases: [
    { name: 'first', run: ({ n }) => n },
    {
      name: 'second',
      batch: { maxItems: 4 },
      retry,
      runMany: (items) =>
        items.map(({ input: { kind, n }, attempt, previous }) => {
          if (kind === 'late first') return attempt < 3 ? retryLater({ afterMs: 1 }) : { previous };
          if (kind === 'not found') return notFound(`no ${n}`);
          if (kind === 'skipped') return skip('not wanted');
          if (kind === 'failed') return fail(`row ${n} is wrong`);
          return { previous };
        }),
    },
  ],
});

it('runMany has the same outcomes in virtual time as on a database', async () => {
  const real = await runPipelineOnDatabase(together, rows, { databaseUrl: database.url });
  expect(facts(await runPipeline(together, rows))).toEqual(facts(real));
});

describe('a run on a database', () => {
  it('fails with an explanation after its deadline', async () => {
    const slow = definePipeline({
      name: 'slow',
      phases: [{ name: 'only', run: () => retryLater({ afterMs: 60_000 }) }],
    });
    const run = runPipelineOnDatabase(slow, [{ n: 1 }], { databaseUrl: database.url, deadlineMs: 300 });
    await expect(run).rejects.toThrow('pipeline slow was not finished after 300 ms; 1 of 1 rows are open');
  });

  it('starts its own PostgreSQL by default', async () => {
    const run = await runPipelineOnDatabase(mixed, rows.slice(0, 2));
    expect(run.counts.DONE).toBe(2);
    expect(run.results[1]).toMatchObject({ row: rows[1], status: 'DONE', phase: 'second', attempts: 1 });
  });
});

describe('rows that handlers emit', () => {
  it('have the same outcomes as on a database, after the given rows', async () => {
    const chain = definePipeline({
      name: 'chain',
      phases: [
        {
          name: 'only',
          retry,
          run: ({ n }, { attempt, emit }) => {
            if (n === 2 && attempt === 1) throw httpError(503);
            if (Number(n) < 3) emit(`n ${Number(n) + 1}`, { n: Number(n) + 1 });
            return n === 3 ? notFound('no more') : { n };
          },
        },
      ],
    });
    const onDatabase = await runPipelineOnDatabase(chain, [{ n: 0 }], { databaseUrl: database.url });
    const virtual = await runPipeline(chain, [{ n: 0 }]);
    expect(onDatabase.results.map(({ row, status }) => [row, status])).toEqual([
      [{ n: 0 }, 'DONE'],
      [{ n: 1 }, 'DONE'],
      [{ n: 2 }, 'DONE'],
      [{ n: 3 }, 'NOT_FOUND'],
    ]);
    const shown = ({ results, counts }: PipelineRun) => ({
      counts,
      results: results.map(({ row, status, result, attempts }) => ({ row, status, result, attempts })),
    });
    expect(shown(onDatabase)).toEqual(shown(virtual));
  });
});

describe('counters', () => {
  it('have the same totals as on a database', async () => {
    const notes = defineCounter({
      name: 'notes',
      scope: 'project',
      entity: 'document',
      measures: ['notes', 'links'],
    });
    const counting = definePipeline({
      name: 'counting',
      counters: [notes],
      phases: [
        {
          name: 'only',
          concurrency: 1,
          retry,
          run: ({ n }, { count, attempt }) => {
            const number = Number(n);
            count(notes, { scope: `p${number % 2}`, entity: 'd' }, { notes: 1 });
            count(notes, { scope: `p${number % 2}`, entity: `d${number}` }, { links: number }, 'replace');
            if (number === 3 && attempt === 1) throw httpError(503);
            return number === 4 ? fail('not this one') : { n };
          },
        },
      ],
    });
    const rows = [0, 1, 2, 3, 4, 5].map((n) => ({ n }));
    const { counted } = await runPipeline(counting, rows);
    expect(counted).toEqual([
      { counter: 'notes', scope: 'p0', entity: 'd', measured: { notes: 2, links: 0 } },
      { counter: 'notes', scope: 'p0', entity: 'd0', measured: { notes: 0, links: 0 } },
      { counter: 'notes', scope: 'p0', entity: 'd2', measured: { notes: 0, links: 2 } },
      { counter: 'notes', scope: 'p1', entity: 'd', measured: { notes: 3, links: 0 } },
      { counter: 'notes', scope: 'p1', entity: 'd1', measured: { notes: 0, links: 1 } },
      { counter: 'notes', scope: 'p1', entity: 'd3', measured: { notes: 0, links: 3 } },
      { counter: 'notes', scope: 'p1', entity: 'd5', measured: { notes: 0, links: 5 } },
    ]);
    const onDatabase = await runPipelineOnDatabase(counting, rows, { databaseUrl: database.url });
    expect(onDatabase.counted).toEqual(counted);
  });
});

// Counters fed by real workers: counting, taking back, and numbers that cannot be stored.
import { afterEach, describe, expect, test } from 'vitest';
import { checkCounters } from '../../src/engine/counters/check-counters.ts';
import { registerDefinitions } from '../../src/engine/counters/known-counters.ts';
import { flushOutcomes, type RecordedOutcome } from '../../src/engine/flush/flush-outcomes.ts';
import { deleteJob, removeRemains } from '../../src/engine/jobs/delete-job.ts';
import { finalizeIfComplete } from '../../src/engine/jobs/finalize-if-complete.ts';
import { sealJob } from '../../src/engine/jobs/seal-job.ts';
import { foldCounters } from '../../src/engine/services/counter-folder.ts';
import {
  defineCounter,
  definePipeline,
  openRowmill,
  type Pipeline,
  type Rowmill,
  skip,
} from '../../src/index.ts';
import { contextOf } from '../../src/open-rowmill.ts';
import type { Database, Statement, Transaction } from '../../src/platform/database.ts';
import { Events } from '../../src/platform/events.ts';
import { newId } from '../../src/platform/random.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { claimItems } from '../../src/store/commands/spans/claim-items.ts';
import { counterPage } from '../../src/store/views/counters/counter-page.ts';
import { findCounter } from '../../src/store/views/counters/find-counter.ts';
import { countedEntries, recountCounters } from '../support/counter-recount.ts';
import { claimRequest, jobWithItems } from '../support/job-factory.ts';
import { useTestDatabase } from '../support/test-database.ts';
import { whenFinished } from '../support/when-finished.ts';

const database = useTestDatabase();

let serial = 0;
/** Each test has its own counter. */
function makeCounter() {
  serial += 1;
  return defineCounter({
    name: `notes-${serial}`,
    scope: 'project',
    entity: 'document',
    measures: ['notes', 'links'],
  });
}
type Notes = ReturnType<typeof makeCounter>;

const SETTINGS: Partial<Settings> = {
  flushMaxItems: 7,
  flushMaxDelayMs: 5,
  claimMax: 10,
  pollMaxMs: 50,
  jobRetentionMinMs: 0,
};

async function withRowmill<T>(
  work: (rowmill: Rowmill, events: Events) => Promise<T>,
  settings = {},
): Promise<T> {
  const events = new Events();
  const rowmill = await openRowmill({
    databaseUrl: database.url,
    settings: { ...SETTINGS, ...settings },
    events,
  });
  try {
    return await work(rowmill, events);
  } finally {
    await rowmill.close();
  }
}

async function runToEnd(rowmill: Rowmill, pipeline: Pipeline, rows: object[], workers = 1): Promise<string> {
  const started = await Promise.all(Array.from({ length: workers }, () => rowmill.startWorker([pipeline])));
  const jobId = await rowmill.submit(pipeline, rows);
  await whenFinished(rowmill, jobId);
  await Promise.all(started.map((worker) => worker.stop()));
  return jobId;
}

async function runAgain(rowmill: Rowmill, pipeline: Pipeline, jobId: string): Promise<void> {
  const worker = await rowmill.startWorker([pipeline]);
  await whenFinished(rowmill, jobId);
  await worker.stop();
}

afterEach(async () => {
  expect(await recountCounters(database)).toEqual([]);
});

describe('counting', () => {
  test('adds once per completed row, however often it was tried and however many workers run', async () => {
    const notes = makeCounter();
    const pipeline = definePipeline({
      name: `add-${notes.name}`,
      counters: [notes],
      phases: [
        {
          name: 'only',
          concurrency: 20,
          retry: { overloaded: { maxAttempts: 2, baseMs: 1 } },
          run: ({ n }, { count, attempt }) => {
            const number = Number(n);
            count(notes, { scope: `p${number % 3}`, entity: `d${number % 5}` }, { notes: 1 });
            count(notes, { scope: `p${number % 3}`, entity: `d${number % 5}` }, { notes: 1, links: number });
            if (number % 7 === 0 && attempt === 1) throw Object.assign(new Error('busy'), { status: 503 });
            if (number % 11 === 0) throw Object.assign(new Error('no such page'), { status: 400 });
            if (number % 13 === 0) return skip('not wanted');
            return { n };
          },
        },
      ],
    });
    const rolledBack: unknown[] = [];
    await withRowmill(async (rowmill, events) => {
      events.on('flush.rolled_back', (detail) => rolledBack.push(detail));
      await runToEnd(
        rowmill,
        pipeline,
        Array.from({ length: 300 }, (_, n) => ({ n })),
        3,
      );
    });
    const expected: Record<string, [number, number]> = {};
    for (let n = 0; n < 300; n += 1) {
      const key = `p${n % 3}/d${n % 5}`;
      expected[key] ??= [0, 0];
      if (n % 11 === 0) continue;
      expected[key][0] += 2;
      expected[key][1] += n;
    }
    expect(await countedEntries(database, notes.name)).toEqual(
      Object.fromEntries(Object.entries(expected).map(([key, numbers]) => [key, numbers.join()])),
    );
    expect(rolledBack).toEqual([]);
  });

  test('can replace, also with nothing, and entities follow the difference', async () => {
    const notes = makeCounter();
    const pipeline = replacing(notes);
    await withRowmill(async (rowmill) => {
      await runToEnd(rowmill, pipeline, [
        { scope: 'a', entity: 'd1', mode: 'replace', notes: 50 },
        { scope: 'b', entity: 'd1', mode: 'add', notes: 30 },
        { scope: 'c', entity: 'd1', mode: 'replace', notes: 20, links: 4 },
      ]);
      expect(await entityOf('d1', notes)).toBe('100,4');
      await runToEnd(rowmill, pipeline, [{ scope: 'a', entity: 'd1', mode: 'replace', notes: 60 }]);
      expect(await entityOf('d1', notes)).toBe('110,4');
      await runToEnd(rowmill, pipeline, [{ scope: 'c', entity: 'd1', mode: 'replace' }]);
      await runToEnd(rowmill, pipeline, [{ scope: 'b', entity: 'd1', mode: 'add' }]);
    });
    expect(await countedEntries(database, notes.name)).toEqual({
      'a/d1': '60,0',
      'b/d1': '30,0',
      'c/d1': '0,0',
    });
    expect(await entityOf('d1', notes)).toBe('90,0');
  });

  test('applies rows of one flush that touch the same entity in their order', async () => {
    const notes = makeCounter();
    const rows = [
      { scope: 'a', entity: 'd', mode: 'add', notes: 1 },
      { scope: 'a', entity: 'd', mode: 'replace', notes: 10 },
      { scope: 'a', entity: 'd', mode: 'add', notes: 2 },
      { scope: 'a', entity: 'd', mode: 'replace', notes: 20 },
      { scope: 'a', entity: 'd', mode: 'add', notes: 3 },
    ];
    const jobId = await withRowmill((rowmill) => runToEnd(rowmill, replacing(notes), rows), {
      flushMaxItems: 100,
      flushMaxDelayMs: 10_000,
      claimMax: 100,
      claimMin: 100,
    });
    expect(await countedEntries(database, notes.name)).toEqual({ 'a/d': '23,0' });
    expect(
      await database.query(
        'select seq::int, epoch::int from counter_contributions where job_id = $1 order by seq',
        [jobId],
      ),
    ).toEqual([0, 1, 1, 2, 2].map((epoch, seq) => ({ seq, epoch })));
  });
});

describe('taking back', () => {
  test('reprocessing counts a row by its new result and no longer by the old one, also if it fails now', async () => {
    const notes = makeCounter();
    let bonus = 0;
    const pipeline = definePipeline({
      name: `reprocess-${notes.name}`,
      counters: [notes],
      phases: [
        {
          name: 'only',
          run: ({ n }, { count }) => {
            count(notes, { scope: `p${Number(n) % 2}`, entity: `d${Number(n) % 3}` }, { notes: 1 + bonus });
            if (bonus > 0 && Number(n) === 5) throw Object.assign(new Error('gone'), { status: 400 });
            return { n };
          },
        },
      ],
    });
    await withRowmill(async (rowmill) => {
      const jobId = await runToEnd(rowmill, pipeline, numbered(12));
      const before = await countedEntries(database, notes.name);
      expect(Object.values(before)).toEqual(Array(6).fill('2,0'));
      bonus = 10;
      await rowmill.reprocess(jobId, { statuses: 'all' });
      // Waiting rows still count by their results.
      expect(await countedEntries(database, notes.name)).toEqual(before);
      expect(await recountCounters(database)).toEqual([]);
      await runAgain(rowmill, pipeline, jobId);
      expect(await countedEntries(database, notes.name)).toEqual({
        ...Object.fromEntries(Object.keys(before).map((key) => [key, '22,0'])),
        'p1/d2': '11,0',
      });
      bonus = 0;
      await rowmill.reprocess(jobId, { seqs: [[0, 6]], includePermanent: true });
      await runAgain(rowmill, pipeline, jobId);
      expect(Object.values(await countedEntries(database, notes.name))).toEqual(Array(6).fill('12,0'));
    });
  });

  test('nothing is taken from an entry that was replaced since', async () => {
    const notes = makeCounter();
    const pipeline = replacing(notes);
    await withRowmill(async (rowmill) => {
      const first = await runToEnd(rowmill, pipeline, [{ scope: 'a', entity: 'd', mode: 'add', notes: 5 }]);
      await runToEnd(rowmill, pipeline, [{ scope: 'a', entity: 'd', mode: 'replace', notes: 7 }]);
      await rowmill.reprocess(first, { statuses: 'all' });
      expect(await countedEntries(database, notes.name)).toEqual({ 'a/d': '7,0' });
      await runAgain(rowmill, pipeline, first);
      expect(await countedEntries(database, notes.name)).toEqual({ 'a/d': '12,0' });
    });
  });

  test('phases that are not rerun keep their counts', async () => {
    const notes = makeCounter();
    let second = 100;
    const pipeline = definePipeline({
      name: `phases-${notes.name}`,
      counters: [notes],
      phases: [
        {
          name: 'first',
          run: ({ n }, { count }) => {
            count(notes, { scope: 'a', entity: `d${n}` }, { notes: 1 });
            return { n };
          },
        },
        {
          name: 'second',
          run: ({ n }, { count }) => {
            count(notes, { scope: 'a', entity: `d${n}` }, { links: second });
            if (second === 0) throw Object.assign(new Error('no'), { status: 400 });
            return { n };
          },
        },
      ],
    });
    await withRowmill(async (rowmill) => {
      const jobId = await runToEnd(rowmill, pipeline, numbered(3));
      expect(Object.values(await countedEntries(database, notes.name))).toEqual(Array(3).fill('1,100'));
      await rowmill.reprocess(jobId, { statuses: 'all', from: 'second' });
      expect(Object.values(await countedEntries(database, notes.name))).toEqual(Array(3).fill('1,100'));
      second = 0;
      await runAgain(rowmill, pipeline, jobId);
      expect(Object.values(await countedEntries(database, notes.name))).toEqual(Array(3).fill('1,0'));
      second = 7;
      await rowmill.reprocess(jobId, { statuses: 'all', from: 'first', includePermanent: true });
      await runAgain(rowmill, pipeline, jobId);
      expect(Object.values(await countedEntries(database, notes.name))).toEqual(Array(3).fill('1,7'));
    });
  });

  test('a cancelled generation keeps the earlier counts of its rows, unless they were replaced since', async () => {
    const notes = makeCounter();
    const pipeline = replacing(notes);
    const rows = [
      { scope: 'a', entity: 'd0', mode: 'add', notes: 1 },
      { scope: 'a', entity: 'd1', mode: 'replace', notes: 2 },
      { scope: 'b', entity: 'd1', mode: 'add', notes: 4 },
    ];
    await withRowmill(async (rowmill) => {
      const jobId = await runToEnd(rowmill, pipeline, rows);
      const before = await countedEntries(database, notes.name);
      await rowmill.reprocess(jobId, { statuses: 'all' });
      await runToEnd(rowmill, replacing(notes, 'other'), [
        { scope: 'b', entity: 'd1', mode: 'replace', notes: 9 },
      ]);
      await rowmill.cancel(jobId);
      expect(await countedEntries(database, notes.name)).toEqual({ ...before, 'b/d1': '9,0' });
      expect(await entityOf('d1', notes)).toBe('11,0');
      expect(await recountCounters(database)).toEqual([]);
      // The rows can be reprocessed once more.
      await rowmill.reprocess(jobId, { statuses: 'all' });
      await runAgain(rowmill, pipeline, jobId);
      expect(await countedEntries(database, notes.name)).toEqual({
        'a/d0': '1,0',
        'a/d1': '2,0',
        'b/d1': '13,0',
      });
    });
  });

  test('a deleted job keeps its contributions, and the recount includes them', async () => {
    const notes = makeCounter();
    const pipeline = replacing(notes);
    await withRowmill(async (rowmill) => {
      const context = contextOf(rowmill);
      const rows = numbered(9).map(({ n }) => ({ scope: 'a', entity: `d${n % 2}`, mode: 'add', notes: n }));
      const jobId = await runToEnd(rowmill, pipeline, rows);
      await runToEnd(rowmill, pipeline, [{ scope: 'a', entity: 'd0', mode: 'add', notes: 100 }]);
      const before = await countedEntries(database, notes.name);
      expect(before).toEqual({ 'a/d0': '120,0', 'a/d1': '16,0' });
      await deleteJob(context, jobId);
      await removeRemains(context, { jobId, rowsPerStep: 4 });
      expect(await database.query('select 1 from counter_contributions where job_id = $1', [jobId])).toEqual(
        [],
      );
      expect(await countedEntries(database, notes.name)).toEqual(before);
      expect(await checkCounters(context)).toMatchObject({ drifted: [], complete: true });
      // A replacement also voids settled contributions.
      await runToEnd(rowmill, pipeline, [{ scope: 'a', entity: 'd0', mode: 'replace', notes: 1 }]);
      expect(await countedEntries(database, notes.name)).toEqual({ 'a/d0': '1,0', 'a/d1': '16,0' });
    });
  });
});

describe('a count that cannot be stored', () => {
  test('fails its row with a reason, and not the neighbours', async () => {
    const notes = makeCounter();
    const wrong: [unknown, unknown, RegExp][] = [
      [
        { scope: 'a', entity: 'd' },
        { notes: 1.5 },
        /expected notes of counter .* to be a whole number from 0 .*, got 1.5/,
      ],
      [{ scope: 'a', entity: 'd' }, { notes: Number.NaN }, /got NaN/],
      [{ scope: 'a', entity: 'd' }, { notes: -1 }, /got -1/],
      [{ scope: 'a', entity: 'd' }, { notes: '3' }, /got "3"/],
      [{ scope: 'a', entity: 'd' }, { pages: 1 }, /expected a measure of counter .*, got "pages"/],
      [{ scope: 'a', entity: 'd' }, { __proto__: null, notes: 2 ** 53 }, /got 9007199254740992/],
      [{ scope: '', entity: 'd' }, { notes: 1 }, /expected the scope .* of 1 to 500 bytes, got ""/],
      [{ scope: 'a', entity: 'é'.repeat(501) }, { notes: 1 }, /expected the entity .* of 1 to 1000 bytes/],
      [{ scope: 'a', entity: 'x\0y' }, { notes: 1 }, /NUL character/],
      [{ scope: 'a', entity: '\ud800' }, { notes: 1 }, /unpaired surrogates/],
      [{ scope: 'a' }, { notes: 1 }, /expected the entity .*, got undefined/],
      [null, { notes: 1 }, /to be given \{ scope, entity \}, got null/],
      [{ scope: 'a', entity: 'd' }, null, /numbers by measure, got null/],
    ];
    const pipeline = definePipeline({
      name: `wrong-${notes.name}`,
      counters: [notes],
      phases: [
        {
          name: 'only',
          run: ({ n }, { count }) => {
            const [key, measured] = wrong[Number(n)] ?? [{ scope: 'a', entity: 'd' }, { notes: 1 }];
            count(notes, key as never, measured as never);
            return { n };
          },
        },
      ],
    });
    await withRowmill(async (rowmill) => {
      const jobId = await runToEnd(rowmill, pipeline, numbered(20));
      const errors = await errorsOf(jobId);
      expect([...errors.keys()]).toEqual(wrong.map((_, n) => n));
      for (const [n, [, , message]] of wrong.entries()) expect(errors.get(n)).toMatch(message);
    });
    expect(await countedEntries(database, notes.name)).toEqual({ 'a/d': '7,0' });
  });

  test('fails the row that would exceed the largest number', async () => {
    const notes = makeCounter();
    const most = Number.MAX_SAFE_INTEGER;
    const rows = [1, 2, 3].map((n) => ({ scope: 'a', entity: 'd', mode: 'add', notes: most - n }));
    const small = [4, 5, 6].map((n) => ({ scope: 'a', entity: `d${n}`, mode: 'add', notes: n }));
    await withRowmill(
      async (rowmill) => {
        const jobId = await runToEnd(rowmill, replacing(notes), [...rows, ...small]);
        const errors = [...(await errorsOf(jobId)).values()];
        expect(errors).toHaveLength(2);
        for (const error of errors)
          expect(error).toMatch(/a counter would leave the range from 0 to 9007199254740991/);
      },
      { flushMaxItems: 100, flushMaxDelayMs: 10_000, claimMin: 100, claimMax: 100 },
    );
    const { 'a/d': big, ...rest } = await countedEntries(database, notes.name);
    expect(rest).toEqual({ 'a/d4': '4,0', 'a/d5': '5,0', 'a/d6': '6,0' });
    expect([1, 2, 3].map((n) => `${most - n},0`)).toContain(big);
  });

  test('is refused if the pipeline does not define the counter', async () => {
    const notes = makeCounter();
    const pipeline = definePipeline({
      name: `unnamed-${notes.name}`,
      phases: [
        {
          name: 'only',
          run: (row, { count }) => {
            count(notes, { scope: 'a', entity: 'd' }, {});
            return row;
          },
        },
      ],
    });
    await withRowmill(async (rowmill) => {
      const jobId = await runToEnd(rowmill, pipeline, numbered(1));
      expect((await errorsOf(jobId)).get(0)).toMatch(
        /expected context.count to be given a counter of the pipeline/,
      );
    });
  });
});

describe('a shared counter', () => {
  test('has one number per entity for the jobs of all owners, also after a rerun', async () => {
    const notes = defineCounter({ ...makeCounter(), shared: true });
    const pipeline = definePipeline({
      name: `shared-${notes.name}`,
      counters: [notes],
      phases: [
        {
          name: 'only',
          run: ({ project, document }, { count, generation }) => {
            const key = { scope: String(project), entity: String(document) };
            // Both annotate the same documents; the second replaces the numbers of the first.
            if (project === 'theirs') count(notes, key, { notes: 20 }, 'replace');
            else count(notes, key, { notes: generation === 1 ? 30 : 5 });
            return {};
          },
        },
      ],
    });
    await withRowmill(async (rowmill) => {
      const worker = await rowmill.startWorker([pipeline]);
      const run = async (ownerId: string, project: string) => {
        const rows = [
          { project, document: 'd1' },
          { project, document: 'd2' },
        ];
        const jobId = await rowmill.submit(pipeline, rows, { ownerId });
        await whenFinished(rowmill, jobId);
        return jobId;
      };
      const first = await run('ann', 'mine');
      await run('bob', 'theirs');
      const entities = () =>
        database.query<object>(
          `select e.owner_id, e.entity, e.measured[1]::int as notes from counter_entities e join counters c using (counter_id)
           where c.name = $1 order by e.entity`,
          [notes.name],
        );
      expect(await entities()).toEqual([
        { owner_id: '*', entity: 'd1', notes: 50 },
        { owner_id: '*', entity: 'd2', notes: 50 },
      ]);
      await rowmill.reprocess(first, { statuses: ['DONE'], seqs: [[0, 1]] });
      await whenFinished(rowmill, first);
      expect(await entities()).toEqual([
        { owner_id: '*', entity: 'd1', notes: 25 },
        { owner_id: '*', entity: 'd2', notes: 50 },
      ]);
      await worker.stop();
      // Another definition cannot turn a counter per owner into a shared one, and no job can have the owner `*`.
      const own = definePipeline({
        name: `own-${notes.name}`,
        counters: [defineCounter({ ...notes, shared: false })],
        phases: [{ name: 'only', run: () => ({}) }],
      });
      await expect(rowmill.startWorker([own])).rejects.toThrow(
        /per project and document here, and per project and document for all owners in the database/,
      );
      await expect(rowmill.createJob(pipeline, { ownerId: '*' })).rejects.toMatchObject({
        code: 'OWNER_INVALID',
      });
    });
  });
});

describe('definitions', () => {
  test('of the same name that differ are refused: in a pipeline, in a worker, and in the database', async () => {
    const notes = makeCounter();
    const other = defineCounter({ ...notes, measures: ['notes'] });
    const phases: [{ name: string; run: (row: object) => object }] = [{ name: 'only', run: (row) => row }];
    expect(() => definePipeline({ name: 'two', counters: [notes, other], phases })).toThrow(
      /expected one definition of counter/,
    );
    const one = definePipeline({ name: 'one', counters: [notes], phases });
    const two = definePipeline({ name: 'two', counters: [other], phases });
    await withRowmill(async (rowmill) => {
      await expect(rowmill.startWorker([one, two])).rejects.toMatchObject({ code: 'COUNTER_INVALID' });
      await (await rowmill.startWorker([one])).stop();
      const renamed = defineCounter({ ...notes, scope: 'team' });
      const third = definePipeline({ name: 'three', counters: [renamed], phases });
      await expect(rowmill.startWorker([third])).rejects.toThrow(
        /counts per team and document here, and per project and document in the database/,
      );
    });
  });

  test('can get more measures later, and workers with the older definition still run', async () => {
    const old = makeCounter();
    const wider = defineCounter({ ...old, measures: ['pages', 'notes', 'links'] });
    const widerPipeline = definePipeline({
      name: `wider-${old.name}`,
      counters: [wider],
      phases: [
        {
          name: 'only',
          run: (row, { count }) => {
            count(wider, { scope: 'a', entity: String(row.entity) }, { pages: 9, notes: 1 });
            return row;
          },
        },
      ],
    });
    const add = (entity: string, mode = 'add') => [{ scope: 'a', entity, mode, notes: 2, links: 3 }];
    await withRowmill(async (rowmill) => {
      await runToEnd(rowmill, replacing(old), add('d'));
      await withRowmill(async (second) => {
        await runToEnd(second, widerPipeline, [{ entity: 'd' }, { entity: 'e' }]);
      });
      await runToEnd(rowmill, replacing(old), add('d'));
      expect(await countedEntries(database, old.name)).toEqual({ 'a/d': '5,6,9', 'a/e': '1,0,9' });
      expect(await recountCounters(database)).toEqual([]);
      await runToEnd(rowmill, replacing(old), add('e', 'replace'));
      expect((await countedEntries(database, old.name))['a/e']).toMatch(/^2,3(,0)?$/);
    });
  });
});

describe('a flush', () => {
  test('counts once if only the reply to its commit was lost, and not at all if its lease was lost', async () => {
    const notes = makeCounter();
    const { db, ...rest } = database.context();
    const context = { ...rest, db };
    await registerDefinitions(db, [notes]);
    const jobId = await jobWithItems(context, { items: 2 });
    const claim = (await claimItems(db, claimRequest(jobId, { maxItems: 1 })))!;
    const lost = (await claimItems(db, claimRequest(jobId, { maxItems: 1 })))!;
    await database.query('update spans set token = gen_random_uuid() where token = $1', [lost.token]);
    const leaseOf = ({ spanId, token, priority, failures, items }: typeof claim) => {
      const contribution = {
        counter: notes.name,
        scope: 'a',
        entity: 'd',
        mode: 'add',
        measured: { notes: 4 },
      } as const;
      const outcome: RecordedOutcome = {
        seq: items[0]!.seq,
        kind: 'terminal',
        status: 'DONE',
        json: '{}',
        failure: null,
        delayMs: 0,
        handlerMs: 1,
        counted: [contribution],
      };
      return { spanId, token, priority, failures, attempt: 0, crashes: 0, outcomes: [outcome] };
    };
    const { generation, phase } = claim;
    const ids = { jobId, generation, phase, workerId: newId(), flushId: newId() };
    const batch = { ...ids, leases: [leaseOf(claim), leaseOf(lost)] };
    expect(await flushOutcomes(context, batch, false)).toMatchObject({ recorded: 1, fenced: 1 });
    await flushOutcomes(context, batch, true);
    expect(await countedEntries(database, notes.name)).toEqual({ 'a/d': '4,0' });
  });
});

describe('the cost of counters', () => {
  test('a flush that counts nothing sends no statement about counters, one that counts sends two', async () => {
    const notes = makeCounter();
    await withRowmill(async (rowmill) => {
      await (await rowmill.startWorker([replacing(notes)])).stop();
      const context = contextOf(rowmill);
      const sent = async (counted?: RecordedOutcome['counted']): Promise<string[]> => {
        const names: string[] = [];
        const jobId = await jobWithItems(context, { items: 1 });
        const claim = (await claimItems(context.db, claimRequest(jobId)))!;
        const { spanId, token, generation, phase, priority } = claim;
        const outcome = {
          seq: 0,
          kind: 'terminal',
          status: 'DONE',
          json: '{}',
          failure: null,
          delayMs: 0,
          handlerMs: 1,
          counted,
        } as const;
        const leases = [
          { spanId, token, priority, attempt: 0, failures: claim.failures, crashes: 0, outcomes: [outcome] },
        ];
        const batch = { jobId, generation, phase, workerId: newId(), flushId: newId(), leases };
        await flushOutcomes({ ...context, db: listening(context.db, names) }, batch, false);
        return names;
      };
      const without = await sent();
      expect(without.filter((name) => name.includes('counter'))).toEqual([]);
      const measured = { notes: 1 };
      const contribution = { counter: notes.name, scope: 'a', entity: 'd', mode: 'add', measured } as const;
      await sent([contribution]);
      expect((await sent([contribution])).filter((name) => name.includes('counter'))).toEqual([
        'list-counters',
        'change-counter-entries',
        'copy-counter-contributions',
      ]);
    });
  });

  test('in a later generation one query checks whether the job ever counted; if not, nothing else is sent', async () => {
    await withRowmill(async (rowmill) => {
      const context = contextOf(rowmill);
      const jobId = await jobWithItems(context, { items: 3 });
      await sealJob(context, jobId);
      const names: string[] = [];
      const heard = { ...context, db: listening(context.db, names) };
      const flushOne = async (): Promise<void> => {
        const claim = (await claimItems(context.db, claimRequest(jobId, { maxItems: 1 })))!;
        const { spanId, token, generation, phase, priority, failures, items } = claim;
        const ended = { kind: 'terminal', status: 'DONE', json: '{}', failure: null } as const;
        const outcome = { ...ended, seq: items[0]!.seq, delayMs: 0, handlerMs: 1 };
        const leases = [{ spanId, token, priority, attempt: 0, failures, crashes: 0, outcomes: [outcome] }];
        const ids = { jobId, workerId: newId(), flushId: newId() };
        await flushOutcomes(heard, { ...ids, generation, phase, leases }, false);
      };
      for (let n = 0; n < 3; n += 1) await flushOne();
      const first = names.splice(0);
      await finalizeIfComplete(context, jobId);
      await rowmill.reprocess(jobId, { statuses: 'all' });
      for (let n = 0; n < 3; n += 1) await flushOne();
      expect(names).toEqual(['has-contributions', ...first]);
    });
  });

  test('totals of scopes are exact before and after folding, by several processes concurrently', async () => {
    const notes = makeCounter();
    await withRowmill(async (rowmill) => {
      await foldCounters(contextOf(rowmill));
      const rows = numbered(40).map(({ n }) => ({
        scope: `p${n % 2}`,
        entity: `d${n}`,
        mode: 'add',
        notes: n,
      }));
      const pipeline = replacing(notes);
      const jobId = await rowmill.submit(pipeline, rows);
      await rowmill.runSlice(jobId, 20_000, { pipelines: [pipeline] });
      const scopes = async () => {
        const { counterId } = (await findCounter(contextOf(rowmill).db, notes.name))!;
        const page = await counterPage(contextOf(rowmill).db, {
          counterId,
          list: 'scopes',
          owners: null,
          limit: 10,
        });
        return page.map(({ name, measured }) => [name, measured[0]]);
      };
      const exact = [
        ['p0', 380],
        ['p1', 400],
      ];
      expect(await scopes()).toEqual(exact);
      const folded = await Promise.all([1, 2, 3].map(() => foldCounters(contextOf(rowmill))));
      expect(folded.reduce((sum, each) => sum + each)).toBeGreaterThan(0);
      expect(await database.query('select 1 from counter_scope_deltas')).toEqual([]);
      expect(await scopes()).toEqual(exact);
    });
  });
});

function numbered(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

async function errorsOf(jobId: string): Promise<Map<number, string>> {
  const rows = await database.query<{ seq: number; error: string }>(
    `select seq::int, error from results where job_id = $1 and status = 'ERROR' order by seq`,
    [jobId],
  );
  return new Map(rows.map(({ seq, error }) => [seq, error]));
}

/** Records the names of the statements sent. */
function listening(db: Database, names: string[]): Database {
  const noting =
    <Given extends [Statement, ...never[]], T>(send: (...given: Given) => T) =>
    (...given: Given): T => {
      names.push(given[0].name);
      return send(...given);
    };
  return {
    run: noting((...given: [Statement, ...never[]]) => db.run(...given)),
    runArrays: noting((...given: [Statement, ...never[]]) => db.runArrays(...given)),
    transaction: (work: (tx: Transaction) => Promise<unknown>) =>
      db.transaction((tx) =>
        work({
          run: noting((...given: [Statement, ...never[]]) => tx.run(...given)) as Transaction['run'],
          runArrays: noting((...given: [Statement, ...never[]]) => tx.runArrays(...given)),
          copy: noting((...given: [Statement, never]) => tx.copy(...given)),
        }),
      ),
  } as unknown as Database;
}

/** Each row contains the parameters of its count. */
function replacing(notes: Notes, prefix = 'replace'): Pipeline {
  return definePipeline({
    name: `${prefix}-${notes.name}`,
    counters: [notes],
    phases: [
      {
        name: 'only',
        run: (row, { count }) => {
          const measured = { notes: row.notes as number | undefined, links: row.links as number | undefined };
          const { scope, entity, mode } = row as Record<string, string>;
          count(notes, { scope: scope!, entity: entity! }, measured, mode as 'add');
          return row;
        },
      },
    ],
  });
}

async function entityOf(entity: string, notes: Notes): Promise<string | undefined> {
  const [row] = await database.query<{ measured: string[] }>(
    `select measured from counter_entities where entity = $1
       and counter_id = (select counter_id from counters where name = $2)`,
    [entity, notes.name],
  );
  return row?.measured.join();
}

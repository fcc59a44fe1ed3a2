// Counters, fed by real workers: what counts, what is taken back, and what happens to numbers that cannot be stored.
import { afterEach, describe, expect, test } from 'vitest';
import { deleteJob, removeRemains } from '../../src/engine/delete-job.ts';
import { foldCounters } from '../../src/engine/services/counter-folder.ts';
import {
  defineCounter,
  definePipeline,
  openRowmill,
  type Pipeline,
  type Rowmill,
  skip,
} from '../../src/index.ts';
import { Events } from '../../src/platform/events.ts';
import type { Settings } from '../../src/platform/settings.ts';
import { countedEntries, recountCounters } from '../support/counter-recount.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();

let serial = 0;
/** Each test has a counter of its own. */
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
  await rowmill.whenFinished(jobId, AbortSignal.timeout(60_000));
  await Promise.all(started.map((worker) => worker.stop()));
  return jobId;
}

async function runAgain(rowmill: Rowmill, pipeline: Pipeline, jobId: string): Promise<void> {
  const worker = await rowmill.startWorker([pipeline]);
  await rowmill.whenFinished(jobId, AbortSignal.timeout(60_000));
  await worker.stop();
}

afterEach(async () => {
  expect(await recountCounters(database)).toEqual([]);
});

describe('what counts', () => {
  test('is added once per row that ended well, however often it was tried, by several workers at once', async () => {
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

  test('is replaced, also by nothing, and entities follow by what changed', async () => {
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

  test('within one flush rows that touch the same entity apply in their order', async () => {
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

/** A row says what to do. */
function replacing(notes: Notes): Pipeline {
  return definePipeline({
    name: `replace-${notes.name}`,
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

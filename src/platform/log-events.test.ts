// Log lines of real runs, from which an operator can see what happened to a job.
import { afterEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../test/support/test-database.ts';
import { contextOf, openRowmill, type Rowmill } from '../open-rowmill.ts';
import { definePipeline } from '../pipeline/define-pipeline.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { capturedLog, type LogEntry } from '../testing/captured-log.ts';
import { Events } from './events.ts';
import { logEvents } from './log-events.ts';
import { newId } from './random.ts';
import type { Settings } from './settings.ts';

const database = useTestDatabase();
const SECRET = 'content of a cell';

type Entry = Omit<LogEntry, 'atMs'>;
let stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function embedded(
  pipeline: Pipeline,
  settings: Partial<Settings> = {},
): Promise<{ rowmill: Rowmill; entries: Entry[]; stop: () => Promise<unknown> }> {
  const entries: Entry[] = [];
  const rowmill = await openRowmill({
    databaseUrl: database.url,
    settings: { sweepMs: 50, jobRetentionMinMs: 0, ...settings },
  });
  const worker = await rowmill.startWorker([pipeline], {
    log: capturedLog((entry) => entries.push(entry), null),
  });
  stops = [() => worker.stop(), () => rowmill.close()];
  return { rowmill, entries, stop: () => worker.stop() };
}

/** Distinct `level message` pairs of the lines about a job, in order. */
function storyOf(entries: readonly Entry[], jobId: string): string[] {
  const lines = entries.filter(({ fields }) => fields.jobId === jobId);
  return [...new Set(lines.map(({ level, message }) => `${level} ${message}`))];
}

function find(entries: readonly Entry[], message: string): Entry[] {
  return entries.filter((entry) => entry.message === message);
}

test('logs the lifecycle, flushes and retries of a job with their numbers, and no cell values', async () => {
  const pipeline = definePipeline({
    name: `told-${newId()}`,
    phases: [
      {
        name: 'only',
        retry: { overloaded: { baseMs: 1, capMs: 1, maxAttempts: 9 } },
        run: (row, { attempt }) => {
          if (attempt === 1 && Number(row.n) < 3) throw Object.assign(new Error(SECRET), { status: 503 });
          if (row.n === 5) throw new Error(SECRET);
          return row;
        },
      },
    ],
  });
  const { rowmill, entries, stop } = await embedded(pipeline);
  const rows = Array.from({ length: 6 }, (_, n) => ({ n, cell: SECRET }));
  const jobId = await rowmill.submit(pipeline, rows, { hold: true });
  await rowmill.resume(jobId);
  await rowmill.whenFinished(jobId);
  await rowmill.reprocess(jobId, { includePermanent: true });
  await rowmill.whenFinished(jobId);
  expect(await rowmill.progress(jobId), 'rows of the last run').toMatchObject({
    endedThisRun: 1,
    itemCount: 6,
  });
  await stop();
  const story = storyOf(entries, jobId);
  // The start is recorded in parallel with the work, so its position varies.
  expect(story.filter((line) => line.startsWith('info') && line !== 'info job started')).toEqual([
    'info job created',
    'info job sealed',
    'info job resumed',
    'info job finished',
    'info job reprocessed',
  ]);
  for (const line of [
    'info job started',
    'debug items stored',
    'debug items claimed',
    'debug flush committed',
    'debug retries scheduled',
  ])
    expect(story).toContain(line);
  const [first] = find(entries, 'flush committed');
  expect(first!.fields).toMatchObject({
    jobId,
    phase: 0,
    trigger: expect.any(String),
    ms: expect.any(Number),
  });
  const flushed = find(entries, 'flush committed').map(({ fields }) => Number(fields.items));
  expect(flushed.reduce((sum, items) => sum + items, 0)).toBe(3 + 6 + 1);
  const retries = find(entries, 'retries scheduled').map(({ fields }) => fields);
  expect(retries.reduce((sum, { items }) => sum + Number(items), 0)).toBe(3);
  expect(retries[0]).toMatchObject({ errorClass: 'overloaded', attempt: 1, maxDelayMs: 1 });
  expect(find(entries, 'job finished').map(({ fields }) => fields)).toMatchObject([
    { generation: 1, state: 'DONE', outcome: 'partly', lagMs: expect.any(Number) },
    { generation: 2, state: 'DONE', outcome: 'partly' },
  ]);
  expect(entries[0]).toMatchObject({
    level: 'info',
    message: 'worker started',
    fields: { pipelines: [pipeline.name] },
  });
  expect(entries.at(-1)).toMatchObject({
    level: 'info',
    message: 'worker stopped',
    fields: { unpersisted: 0 },
  });
  expect(JSON.stringify(entries)).not.toContain(SECRET);
});

test('logs a pause, a cancellation, a rescued lease and a buffer that fills up', async () => {
  const held: (() => void)[] = [];
  let started = (): void => {};
  const running = new Promise<void>((resolve) => {
    started = resolve;
  });
  const pipeline = definePipeline({
    name: `stopped-${newId()}`,
    phases: [
      {
        name: 'only',
        concurrency: 20,
        run: async (row) => {
          if (row.waits && held.length === 0)
            await new Promise<void>((resolve) => {
              held.push(resolve);
              started();
            });
          return row;
        },
      },
    ],
  });
  const { rowmill, entries } = await embedded(pipeline, { flushBacklogItems: 10 });
  const jobId = await rowmill.submit(pipeline, [{ waits: true }]);
  await running;
  await rowmill.pause(jobId);
  const rescued = contextOf(rowmill).events.next('lease.rescued');
  await database.query(`update spans set expires_at = now() - interval '1 second' where job_id = $1`, [
    jobId,
  ]);
  await rescued;
  held[0]!();
  await rowmill.cancel(jobId);
  await rowmill.whenFinished(jobId);
  expect(find(entries, 'job paused')).toMatchObject([{ level: 'info', fields: { jobId, reason: null } }]);
  expect(find(entries, 'lease rescued')).toMatchObject([
    { level: 'warn', fields: { jobId, phase: 0, workerId: expect.any(String), items: 1, failed: 0 } },
  ]);
  expect(find(entries, 'job cancelled')).toMatchObject([{ level: 'info', fields: { jobId } }]);
  expect(find(entries, 'job finished')).toMatchObject([
    { fields: { jobId, state: 'CANCELLED', outcome: 'failed' } },
  ]);

  const calm = contextOf(rowmill).events.next('buffer.changed', ({ to }) => to === 'calm');
  const full = contextOf(rowmill).events.next('buffer.changed', ({ to }) => to === 'full');
  await database.query('begin');
  await database.query('lock table result_rows in exclusive mode');
  const second = await rowmill.submit(
    pipeline,
    Array.from({ length: 10 }, (_, n) => ({ n })),
  );
  await full;
  await database.query('commit');
  await calm;
  await rowmill.whenFinished(second);
  expect(find(entries, 'buffer filling up').slice(0, 2)).toMatchObject([
    { level: 'warn', fields: { to: 'high', fullness: 0.8, items: 8 } },
    { level: 'warn', fields: { to: 'full', fullness: 1, items: 10 } },
  ]);
  expect(find(entries, 'buffer draining').at(-1)).toMatchObject({ level: 'info', fields: { to: 'calm' } });
});

test('logs a flush that the database rolled back, with the reason', async () => {
  const pipeline = definePipeline({
    name: `refused-${newId()}`,
    phases: [{ name: 'only', run: (row) => row }],
  });
  const { rowmill, entries } = await embedded(pipeline);
  await database.query(`
    drop trigger if exists roll_back_once on result_rows;
    drop sequence if exists rolled_back;
    create sequence rolled_back;
    create or replace function roll_back_once() returns trigger language plpgsql as $$
    begin
      if nextval('rolled_back') = 1 then raise exception 'not this time' using errcode = '40001'; end if;
      return new;
    end $$;
    create trigger roll_back_once before insert on result_rows for each row execute function roll_back_once()`);
  const jobId = await rowmill.submit(pipeline, [{ n: 1 }]);
  await rowmill.whenFinished(jobId);
  expect(find(entries, 'flush rolled back')).toMatchObject([
    { level: 'warn', fields: { jobId, items: 1, kind: 'passing', error: 'not this time' } },
  ]);
});

test('logs events that workers share once, and passes logging to the next worker', () => {
  const events = new Events();
  const lines: string[] = [];
  const log = (name: string) => capturedLog(({ message }) => lines.push(`${name} ${message}`), null);
  const stopFirst = logEvents(events, log('first'));
  const stopSecond = logEvents(events, log('second'));
  events.emit('job.started', { jobId: 'a' });
  stopSecond();
  stopFirst();
  events.emit('job.started', { jobId: 'b' });
  logEvents(events, log('third'));
  events.emit('job.started', { jobId: 'c' });
  expect(lines).toEqual(['first job started', 'third job started']);
});

test('limits lines that repeat hundreds of times a second', () => {
  const events = new Events();
  const entries: Entry[] = [];
  logEvents(
    events,
    capturedLog((entry) => entries.push(entry), null),
  );
  for (let n = 0; n < 500; n += 1) events.emit('claim.failed', { error: new Error('no connection') });
  expect(find(entries, 'claim failed')).toHaveLength(10);
});

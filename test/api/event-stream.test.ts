// Server-sent events: every event of a job is delivered exactly once, however often the connection is cut.
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { jobEvent, openEvent, progressEvent } from '../../src/contract/events.ts';
import { addItems } from '../../src/engine/items/add-items.ts';
import { cancelJob } from '../../src/engine/jobs/cancel-job.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import { pauseJob } from '../../src/engine/jobs/pause-job.ts';
import { resumeJob } from '../../src/engine/jobs/resume-job.ts';
import { newId } from '../../src/platform/random.ts';
import { insertJobEvent } from '../../src/store/commands/events/insert-job-event.ts';
import { addTeam, addUser, sessionHeaders } from '../support/account-factory.ts';
import { apiReader } from '../support/api-reader.ts';
import { type EventClient, listen } from '../support/event-client.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const quick = { streamProgressMs: 50, streamHeartbeatMs: 200 };

async function openJob(context: EngineContext, ownerId = 'local'): Promise<string> {
  const { jobId } = await createJob(context, { pipeline: 'test', phases: ['only'], ownerId });
  await addItems(context, jobId, [{ n: 1 }, { n: 2 }]);
  return jobId;
}

function positions({ events }: EventClient): number[] {
  return events.flatMap(({ id, event }) => (id !== undefined && event !== 'open' ? [Number(id)] : []));
}

async function storedPositions(jobId: string): Promise<number[]> {
  const rows = await database.query<{ position: string }>(
    'select position from job_events where job_id = $1 and position is not null order by position',
    [jobId],
  );
  return rows.map(({ position }) => Number(position));
}

function kinds({ events }: EventClient): (string | undefined)[] {
  return events.map(({ event }) => event).filter((event) => event !== 'progress');
}

describe('a stream of a job', () => {
  test('sends its events and progress as defined in the contract', async () => {
    const { url, context } = await startTestApi(database.url, { settings: quick });
    const jobId = await openJob(context.engine);
    const other = await openJob(context.engine);
    const client = await listen(`${url}/api/jobs/${jobId}/events`);
    expect(client.status).toBe(200);
    await client.until(() => client.events.some(({ event }) => event === 'progress'));
    await pauseJob(context.engine, other);
    await pauseJob(context.engine, jobId);
    await resumeJob(context.engine, jobId);
    await cancelJob(context.engine, jobId);
    await client.until(() => kinds(client).includes('job.finished'));
    // The event of the end has the counts too, and may arrive before the last progress.
    await client.until(() =>
      client.events.some(({ event, data }) => event === 'progress' && data.includes('"CANCELLED":2')),
    );
    expect(kinds(client)).toEqual(['open', 'job.paused', 'job.resumed', 'job.cancelling', 'job.finished']);
    expect(openEvent.parse(JSON.parse(client.events[0]!.data)).missed).toBe(false);
    const told = client.events.filter(({ event }) => event?.startsWith('job.'));
    for (const { id, event, data } of told)
      expect(jobEvent.parse(JSON.parse(data))).toMatchObject({ position: Number(id), kind: event, jobId });
    const progress = client.events.filter(({ event }) => event === 'progress');
    expect(progress.every(({ id }) => id === undefined)).toBe(true);
    const last = progressEvent.parse(JSON.parse(progress.at(-1)!.data));
    expect(last).toMatchObject({ jobId, itemCount: 2, counts: { CANCELLED: 2, PENDING: 0 } });
    const texts = progress.map(({ data }) => data);
    expect(texts.filter((text, at) => text === texts[at - 1])).toEqual([]);
    client.close();
  });

  test('has the rate that the job and the list of jobs have', async () => {
    const { url, context } = await startTestApi(database.url, { settings: quick });
    const jobId = await openJob(context.engine);
    await database.query(
      `update jobs set state = 'RUNNING', started_at = now() - interval '10 minutes' where job_id = $1`,
      [jobId],
    );
    // 90 items within the last minute, 30 of them a few seconds ago, and 600 before. Cancelled items do not count.
    await database.query(
      `insert into ledger (job_id, entry_id, generation, phase, at, done, error, cancelled)
       select $1, gen_random_uuid(), 1, 0, now() - s * interval '1 second', n, 10, 50
       from (values (3, 20), (30, 50), (90, 590)) as l(s, n)`,
      [jobId],
    );
    const client = await listen(`${url}/api/jobs/${jobId}/events`);
    await client.until(() => client.events.some(({ event }) => event === 'progress'));
    const { data } = client.events.find(({ event }) => event === 'progress')!;
    client.close();
    const reader = apiReader(url);
    const { items } = await reader.read('listJobs', {}, { search: jobId });
    const rates = [progressEvent.parse(JSON.parse(data)), await reader.read('getJob', { jobId }), items[0]!];
    for (const { perSecond, rateWindowMs } of rates) expect([perSecond, rateWindowMs]).toEqual([1.5, 60_000]);
  });

  test('that is resumed misses nothing and repeats nothing, wherever it was cut', async () => {
    const { url, context } = await startTestApi(database.url, { settings: quick });
    const jobId = await openJob(context.engine);
    let isChanging = true;
    let cuts = 0;
    const changing = (async () => {
      while (cuts < 15) {
        await pauseJob(context.engine, jobId);
        await resumeJob(context.engine, jobId);
      }
      isChanging = false;
    })();
    const seen: number[] = [];
    let lastEventId: number | undefined;
    const first = await listen(`${url}/api/jobs/${jobId}/events`);
    await first.until(() => first.events.length > 0);
    lastEventId = Number(first.events[0]!.id);
    first.close();
    while (isChanging || seen.length === 0 || seen.at(-1) !== (await storedPositions(jobId)).at(-1)) {
      const byHeader = cuts % 2 === 0;
      const client: EventClient = await listen(
        `${url}/api/jobs/${jobId}/events${byHeader ? '' : `?lastEventId=${lastEventId}`}`,
        byHeader ? { 'last-event-id': String(lastEventId) } : {},
      );
      const more = 1 + Math.floor(Math.random() * 5);
      await client.until(() => positions(client).length >= more || client.comments.length > 0);
      client.close();
      seen.push(...positions(client));
      lastEventId = seen.at(-1) ?? lastEventId;
      cuts += 1;
    }
    await changing;
    const expected = (await storedPositions(jobId)).filter((position) => position >= seen[0]!);
    expect(seen).toEqual(expected);
    expect(seen.length).toBeGreaterThan(15);
  });

  test('that is resumed on another process that lags behind repeats nothing', async () => {
    const ahead = await startTestApi(database.url, { settings: quick });
    const behind = await startTestApi(database.url, { settings: { streamProgressMs: 1500 } });
    const { engine } = ahead.context;
    const jobId = await openJob(engine);
    const [first, beside] = [
      await listen(`${ahead.url}/api/jobs/${jobId}/events`),
      await listen(`${behind.url}/api/jobs/${jobId}/events`),
    ];
    await Promise.all([first, beside].map((client) => client.until(() => client.events.length > 0)));
    await pauseJob(engine, jobId);
    await first.until(() => kinds(first).includes('job.paused'));
    first.close();
    const lastEventId = positions(first).at(-1)!;
    const second = await listen(`${behind.url}/api/jobs/${jobId}/events?lastEventId=${lastEventId}`);
    await resumeJob(engine, jobId);
    await second.until(() => kinds(second).includes('job.resumed'));
    await beside.until(() => kinds(beside).includes('job.resumed'));
    expect(kinds(second)).toEqual(['open', 'job.resumed']);
    expect(kinds(beside)).toEqual(['open', 'job.paused', 'job.resumed']);
    second.close();
    beside.close();
  });

  test('of a client that does not read is bounded in memory, and continues where it stopped', async () => {
    const { url, context } = await startTestApi(database.url, {
      settings: { ...quick, streamHeartbeatMs: 600_000 },
    });
    const jobId = await openJob(context.engine);
    const { port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET /api/jobs/${jobId}/events HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    // More than the buffers of two sockets can hold.
    const detail = { text: 'x'.repeat(100_000) };
    for (let n = 0; n < 120; n += 1)
      await insertJobEvent(context.engine.db, [jobId], 'job.changed', { n, ...detail });
    const beside = await listen(`${url}/api/jobs/${jobId}/events?lastEventId=0`);
    await beside.until(() => positions(beside).length >= 121);
    beside.close();
    await expect.poll(() => context.streams.streamCount).toBe(1);
    await expect.poll(() => context.streams.heldBytes).toBeGreaterThan(0);
    expect(context.streams.heldBytes).toBeLessThan(1_000_000);
    let text = '';
    let tail = '';
    const all = new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        const piece = chunk.toString('latin1').replace(/x{100,}/g, '');
        text += piece;
        tail = (tail + piece).slice(-200_000);
        if (tail.includes('"n":119,')) resolve();
      });
    });
    socket.resume();
    await all;
    socket.destroy();
    const numbers = [...text.matchAll(/"n":(\d+),/g)].map((match) => Number(match[1]));
    expect(numbers).toEqual(Array.from({ length: 120 }, (_, n) => n));
  });

  test('of a client that does not read for too long is closed', async () => {
    const { url, context } = await startTestApi(database.url, {
      settings: { ...quick, apiIdleMs: 300, streamHeartbeatMs: 600_000 },
    });
    const jobId = await openJob(context.engine);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(`GET /api/jobs/${jobId}/events HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    const detail = { text: 'x'.repeat(100_000) };
    for (let n = 0; n < 200; n += 1) await insertJobEvent(context.engine.db, [jobId], 'job.changed', detail);
    await expect.poll(() => context.streams.streamCount).toBe(0);
    socket.destroy();
  });
});

describe('a stream of all jobs', () => {
  test("sends events of the caller's jobs, or of all jobs to an administrator on request", async () => {
    const { url, context } = await startTestApi(database.url, { settings: quick });
    const [own, all] = [await listen(`${url}/api/events`), await listen(`${url}/api/events?all=true`)];
    await Promise.all([own, all].map((client) => client.until(() => client.events.length > 0)));
    const theirs = await openJob(context.engine, 'somebody');
    const mine = await openJob(context.engine);
    const isOf = (jobId: string) => (event: { data: string }) => event.data.includes(jobId);
    await own.until(() => own.events.some(isOf(mine)));
    await all.until(() => all.events.some(isOf(mine)) && all.events.some(isOf(theirs)));
    await own.until(() => own.events.some((event) => event.event === 'progress' && isOf(mine)(event)));
    expect(own.events.some(isOf(theirs))).toBe(false);
    own.close();
    all.close();
  });

  test('reports if requested events are already pruned', async () => {
    const { url, context } = await startTestApi(database.url, { settings: quick });
    await openJob(context.engine);
    await database.query('update event_positions set pruned = 1');
    const client = await listen(`${url}/api/events?lastEventId=0`);
    await client.until(() => client.events.length > 0);
    expect(JSON.parse(client.events[0]!.data)).toMatchObject({ position: 0, missed: true });
    client.close();
  });
});

describe('streams', () => {
  test('send heartbeats, and are limited per caller', async () => {
    const { url, context } = await startTestApi(database.url, { settings: { ...quick, streamsAtOnce: 2 } });
    const clients = [await listen(`${url}/api/events`), await listen(`${url}/api/events`)];
    await clients[0]!.until(() => clients[0]!.comments.length > 1);
    const refused = await fetch(`${url}/api/events`);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_STREAMS' });
    clients[0]!.close();
    await expect.poll(() => context.streams.streamCount).toBe(1);
    const again = await listen(`${url}/api/events`);
    expect(again.status).toBe(200);
    again.close();
    clients[1]!.close();
  });

  test('are not opened by HEAD, which would leave them open', async () => {
    const { url, context } = await startTestApi(database.url);
    const jobId = await openJob(context.engine);
    for (const path of ['/api/events', `/api/jobs/${jobId}/events`])
      expect((await fetch(url + path, { method: 'HEAD' })).status).toBe(405);
    expect(context.streams.streamCount).toBe(0);
  });

  test('of missing jobs are refused', async () => {
    const { url } = await startTestApi(database.url);
    const response = await fetch(`${url}/api/jobs/00000000-0000-4000-8000-000000000000/events`);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'JOB_NOT_FOUND' });
  });

  test('end when the caller may no longer listen', async () => {
    const { url, context } = await startTestApi(database.url, { settings: quick });
    const jobId = await openJob(context.engine);
    const client = await listen(`${url}/api/jobs/${jobId}/events`);
    await client.until(() => client.events.length > 0);
    await database.query('delete from jobs where job_id = $1', [jobId]);
    await client.ended;
  });

  test.each([
    ['the session has ended', `delete from sessions where user_id = 'ada'`, 401],
    ['the account is disabled', `update users set disabled = true where user_id = 'ada'`, 401],
  ])('end when %s, and cannot be reopened', async (_, change, status) => {
    await database.query(`delete from users where user_id = 'ada'`);
    await addUser(database, 'ada');
    const { url } = await startTestApi(database.url, { settings: { ...quick, authentication: 'password' } });
    const headers = await sessionHeaders(database, 'ada');
    const client = await listen(`${url}/api/events`, headers);
    await client.until(() => client.events.length > 0);
    await database.query(change);
    await client.ended;
    expect((await fetch(`${url}/api/events`, { headers })).status).toBe(status);
  });

  test('of a job end when the caller leaves the team of its owner, and then it is not found', async () => {
    const [team, grace] = [`@${newId()}`, newId()];
    await addTeam(database, team);
    await addUser(database, grace, { teamId: team });
    const { url, context } = await startTestApi(database.url, {
      settings: { ...quick, authentication: 'password' },
    });
    const headers = await sessionHeaders(database, grace);
    const jobId = await openJob(context.engine, team);
    const client = await listen(`${url}/api/jobs/${jobId}/events`, headers);
    await client.until(() => client.events.length > 0);
    await database.query('update users set team_id = null where user_id = $1', [grace]);
    await client.ended;
    expect((await fetch(`${url}/api/jobs/${jobId}/events`, { headers })).status).toBe(404);
  });

  test('end with the server', async () => {
    const api = await startTestApi(database.url);
    const client = await listen(`${api.url}/api/events`);
    await client.until(() => client.events.length > 0);
    await Promise.all([api.stop(), client.ended]);
  });
});

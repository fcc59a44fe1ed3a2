// Events over broken connections: no event is missed, and no stream is followed forever.
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { createClient } from '../../src/client/create-client.ts';
import { type StreamedEvent, silenceMs } from '../../src/client/follow-events.ts';
import type { EventKind } from '../../src/contract/event-kinds.ts';
import { jobEvent, progressEvent } from '../../src/contract/events.ts';
import type { JobState } from '../../src/core/jobs/job-state.ts';
import { SERVER_NUMBERS } from '../../src/platform/server-settings.ts';
import { type Asked, beginEvents, Refusal, startContractServer } from './contract-server.ts';
import { AT, exampleJob, JOB_ID } from './example-answers.ts';

function sendLifecycle(reply: ServerResponse, position: number, kind: EventKind, generation = 1): void {
  const state: JobState = kind === 'job.finished' ? 'DONE' : 'RUNNING';
  const event = { position, kind, jobId: JOB_ID, ownerId: 'alice', at: AT, generation, state, detail: {} };
  reply.write(`id: ${position}\nevent: ${kind}\ndata: ${JSON.stringify(jobEvent.parse(event))}\n\n`);
}

function sendProgress(reply: ServerResponse, done: number, state: JobState = 'RUNNING'): void {
  const event = { jobId: JOB_ID, state, generation: 1, itemCount: 10, counts: { DONE: done } };
  const { unfinished } = exampleJob();
  const pace = { unfinished, perSecond: 1, rateWindowMs: 60_000, eta: null, etaUnknownBecause: null };
  const rest = { ...pace, cost: 0, workers: 1 };
  reply.write(`event: progress\ndata: ${JSON.stringify(progressEvent.parse({ ...event, ...rest }))}\n\n`);
}

const told = (event: StreamedEvent): string =>
  event.type === 'counter'
    ? `counter ${event.counter}`
    : event.type === 'progress'
      ? `progress ${event.counts.DONE}`
      : `${event.position} ${event.kind}`;

async function readAll(events: AsyncIterable<StreamedEvent>): Promise<string[]> {
  const all: string[] = [];
  for await (const event of events) all.push(told(event));
  return all;
}

test('follows a job to its end over a broken connection, resuming after the last event received', async () => {
  const sawProgress = { promise: Promise.resolve(), resolve: () => {} };
  sawProgress.promise = new Promise((resolve) => {
    sawProgress.resolve = resolve;
  });
  const connections: ((asked: Asked) => void)[] = [
    ({ reply }) => {
      beginEvents(reply);
      sendLifecycle(reply, 11, 'job.started');
      reply.write('event: job.unheard_of\ndata: {}\n\n');
      sendProgress(reply, 5);
      void sawProgress.promise.then(() => reply.write('event: progress\ndata: {"cut', () => reply.destroy()));
    },
    () => undefined,
    ({ reply }) => {
      beginEvents(reply);
      sendLifecycle(reply, 12, 'job.paused');
      sendLifecycle(reply, 13, 'job.resumed');
      sendProgress(reply, 10, 'DONE');
      sendLifecycle(reply, 14, 'job.finished');
    },
  ];
  const server = await startContractServer({
    getJob: () => exampleJob(),
    streamJobEvents: (asked) => {
      const next = connections.shift()!;
      if (connections.length === 1) return new Refusal(503, 'DATABASE_UNREACHABLE', { 'retry-after': '0' });
      next(asked);
      return undefined;
    },
  });
  const reconnects: unknown[] = [];
  const events = createClient({ baseUrl: server.url }).follow(JOB_ID, {
    onReconnect: (reason) => reconnects.push(reason),
  });
  const all: string[] = [];
  for await (const event of events) {
    all.push(told(event));
    if (all.at(-1) === 'progress 5') sawProgress.resolve();
  }
  expect(all).toEqual([
    'progress 3',
    '11 job.started',
    'progress 5',
    'progress 3',
    '12 job.paused',
    '13 job.resumed',
    'progress 10',
    '14 job.finished',
  ]);
  const streams = server.asked.filter((each) => each.name === 'streamJobEvents');
  expect(streams.map((each) => each.headers['last-event-id'])).toEqual([undefined, '11', '11']);
  expect(reconnects).toHaveLength(2);
  expect(reconnects[1]).toMatchObject({ status: 503 });
});

test('resumes from the start of the stream if it was cut off before the first event', async () => {
  let connections = 0;
  let missed = 0;
  const server = await startContractServer({
    getJob: () => exampleJob(),
    streamJobEvents: ({ reply }) => {
      connections += 1;
      beginEvents(reply, 40 + connections, connections === 2);
      if (connections === 1) sendProgress(reply, 5);
      else sendLifecycle(reply, 50, 'job.finished');
    },
  });
  const events = createClient({ baseUrl: server.url }).follow(JOB_ID, {
    onMissed: () => {
      missed += 1;
    },
  });
  for await (const event of events) if (told(event) === 'progress 5') server.dropConnections();
  const streams = server.asked.filter((each) => each.name === 'streamJobEvents');
  expect(streams.map((each) => each.headers['last-event-id'])).toEqual([undefined, '41']);
  expect(missed).toBe(1);
});

test('stops immediately if the job is already finished', async () => {
  const server = await startContractServer({
    getJob: () => exampleJob({ state: 'DONE', generation: 2 }),
    streamJobEvents: ({ reply }) => beginEvents(reply),
  });
  expect(await readAll(createClient({ baseUrl: server.url }).follow(JOB_ID))).toEqual(['progress 3']);
});

test('a repeated end of an earlier generation is not the end of this one', async () => {
  const server = await startContractServer({
    getJob: () => exampleJob({ generation: 2 }),
    streamJobEvents: ({ reply }) => {
      beginEvents(reply);
      sendLifecycle(reply, 1, 'job.finished', 1);
      sendLifecycle(reply, 2, 'job.reprocessed', 2);
      sendLifecycle(reply, 3, 'job.failed', 2);
    },
  });
  expect(await readAll(createClient({ baseUrl: server.url }).follow(JOB_ID, { lastEventId: 0 }))).toEqual([
    'progress 3',
    '1 job.finished',
    '2 job.reprocessed',
    '3 job.failed',
  ]);
});

test.each([
  [401, 'UNAUTHENTICATED'],
  [403, 'FORBIDDEN'],
  [404, 'JOB_NOT_FOUND'],
])('stops after a refusal with %i', async (status, code) => {
  const server = await startContractServer({ streamJobEvents: () => new Refusal(status, code) });
  const events = createClient({ baseUrl: server.url }).follow(JOB_ID);
  await expect(events.next()).rejects.toMatchObject({ status, code });
  expect(server.asked).toHaveLength(1);
});

test('reconnects to a silent server', async () => {
  let connections = 0;
  const server = await startContractServer({
    getJob: () => exampleJob(),
    streamJobEvents: ({ reply }) => {
      beginEvents(reply);
      connections += 1;
      // A busy machine may cause the same silence.
      if (connections > 1) sendLifecycle(reply, 2, 'job.finished');
    },
  });
  const client = createClient({ baseUrl: server.url });
  const events = await readAll(client.follow(JOB_ID, { silentMs: 50 }));
  expect(events.at(-1)).toBe('2 job.finished');
  expect(connections).toBeGreaterThan(1);
});

test('reconnects if announced heartbeats are missing', async () => {
  let connections = 0;
  const server = await startContractServer({
    getJob: () => exampleJob(),
    streamJobEvents: ({ reply }) => {
      beginEvents(reply);
      connections += 1;
      if (connections > 1) sendLifecycle(reply, 2, 'job.finished');
      else reply.write('id: 1\nevent: open\ndata: {"position":1,"missed":false,"heartbeatMs":10}\n\n');
    },
  });
  const events = await readAll(createClient({ baseUrl: server.url }).follow(JOB_ID));
  expect(events.at(-1)).toBe('2 job.finished');
  expect(connections).toBeGreaterThan(1);
});

test('notices a dead connection within ten seconds by default', () => {
  expect(silenceMs(SERVER_NUMBERS.streamHeartbeatMs.default)).toBeLessThan(9000);
});

test('yields events of all jobs until the signal fires, and closes the connection when the loop ends', async () => {
  let closed = 0;
  const server = await startContractServer({
    streamEvents: ({ reply }) => {
      reply.on('close', () => {
        closed += 1;
      });
      beginEvents(reply);
      sendLifecycle(reply, 1, 'job.finished');
      sendLifecycle(reply, 2, 'job.created');
    },
  });
  const client = createClient({ baseUrl: server.url });
  const stop = new AbortController();
  const seen: string[] = [];
  const reading = (async () => {
    for await (const event of client.events({ all: true, signal: stop.signal })) {
      seen.push(told(event));
      if (seen.length === 2) stop.abort(new Error('enough'));
    }
  })();
  await expect(reading).rejects.toThrow('enough');
  expect(seen).toEqual(['1 job.finished', '2 job.created']);
  expect(server.asked[0]!.query).toEqual({ all: true });
  for await (const event of client.events()) if (told(event) === '1 job.finished') break;
  await expect.poll(() => closed).toBe(2);
});

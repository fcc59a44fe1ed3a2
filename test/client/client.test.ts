// The client against a server on a real socket that checks requests and answers against the contract.

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../src/client/create-client.ts';
import { RowmillApiError } from '../../src/client/rowmill-api-error.ts';
import type { Route } from '../../src/contract/route.ts';
import { ROUTES } from '../../src/contract/routes.ts';
import { Refusal, startContractServer } from './contract-server.ts';
import { exampleItem, exampleJob, exampleListedJob, JOB_ID } from './example-answers.ts';

test('has a method for every route, whose parameter names do not collide', () => {
  const client = createClient({ baseUrl: 'http://nowhere' });
  const keysOf = (schema: unknown): string[] =>
    schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  for (const [name, route] of Object.entries(ROUTES as Record<string, Route>)) {
    expect(client).toHaveProperty(name);
    const keys = [route.params, route.query, route.body].flatMap(keysOf);
    expect(keys, name).toEqual([...new Set(keys)]);
    if (route.body) expect(route.body, name).toBeInstanceOf(z.ZodObject);
  }
});

test('puts parameters into the path, lists and flags into the query, and the rest into the body', async () => {
  const server = await startContractServer({
    listItems: () => ({ items: [exampleItem(3)], next: null, previous: null, looked: 4 }),
    listJobs: () => ({ items: [exampleListedJob()], next: null, previous: null }),
    changeResource: () => ({ override: { ratePerSecond: 5 } }),
    revokeKey: () => undefined,
    sliceJob: () => ({ state: 'RUNNING', finished: false, elapsedMs: 5, moreReadyInMs: 0 }),
  });
  const client = createClient({ baseUrl: `${server.url}/`, apiKey: 'rmk_a_b', validate: true });
  const page = await client.listItems({
    jobId: JOB_ID,
    statuses: ['ERROR', 'DONE'],
    phase: 1,
    search: 'ä&b',
  });
  expectTypeOf(page.items[0]!.seq).toBeNumber();
  expect(page.items[0]!.seq).toBe(3);
  await client.listJobs({ all: true, after: undefined });
  await client.listJobs();
  await client.changeResource({ name: 'a/b c', ratePerSecond: 5, key: 'k' });
  expect(await client.revokeKey({ keyId: '0123456789abcdef' })).toBeUndefined();
  expect((await client.sliceJob({ jobId: JOB_ID, durationMs: 7 })).moreReadyInMs).toBe(0);
  expect(server.asked.map(({ name, params, query, body }) => ({ name, params, query, body }))).toEqual([
    {
      name: 'listItems',
      params: { jobId: JOB_ID },
      query: { statuses: ['ERROR', 'DONE'], phase: 1, search: 'ä&b', limit: 50 },
      body: {},
    },
    { name: 'listJobs', params: {}, query: { all: true, limit: 50 }, body: {} },
    { name: 'listJobs', params: {}, query: { limit: 50 }, body: {} },
    { name: 'changeResource', params: { name: 'a/b c' }, query: {}, body: { ratePerSecond: 5, key: 'k' } },
    { name: 'revokeKey', params: { keyId: '0123456789abcdef' }, query: {}, body: {} },
    { name: 'sliceJob', params: { jobId: JOB_ID }, query: { durationMs: 7 }, body: {} },
  ]);
  expect(server.asked[0]!.headers).toMatchObject({ authorization: 'Bearer rmk_a_b' });
});

test('reaches a server below a base path', async () => {
  const server = await startContractServer({ getJob: () => exampleJob() }, { base: '/tools/rowmill' });
  const client = createClient({ baseUrl: server.url });
  expect((await client.getJob({ jobId: JOB_ID })).phases).toEqual(['only']);
  const outside = createClient({ baseUrl: server.url.replace('/tools/rowmill', '') });
  await expect(outside.getJob({ jobId: JOB_ID })).rejects.toMatchObject({
    code: 'API_ANSWER_INVALID',
    status: 404,
    message: 'the server answered 404: <h1>nothing here</h1>',
  });
});

test('a refusal has a code, hint, status, request id and issues', async () => {
  const server = await startContractServer({
    pauseJob: () => new Refusal(409, 'JOB_CONFLICT'),
    createKey: ({ reply }) => {
      reply.writeHead(400, { 'content-type': 'application/json' });
      reply.end(
        JSON.stringify({
          code: 'REQUEST_INVALID',
          message: 'm',
          hint: 'h',
          docs: 'https://rowmill.example/docs/errors.md#request_invalid',
          requestId: 'r',
          issues: [{ path: 'body.name', message: 'too small' }],
        }),
      );
    },
  });
  const client = createClient({ baseUrl: server.url });
  const refused = await client.pauseJob({ jobId: JOB_ID }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RowmillApiError);
  expect(refused).toMatchObject({
    code: 'JOB_CONFLICT',
    message: 'refused: JOB_CONFLICT',
    hint: 'a hint',
    // The server did not send it, as older ones do not.
    docs: 'docs/errors.md#job_conflict',
    status: 409,
    requestId: 'req-1',
    issues: [],
    retryAfterMs: null,
  });
  await expect(client.createKey({ name: 'x' })).rejects.toMatchObject({
    docs: 'https://rowmill.example/docs/errors.md#request_invalid',
    issues: [{ path: 'body.name', message: 'too small' }],
  });
});

test('reports an unreachable server with its URL and the reason', async () => {
  const port = await freePort();
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, maxRetries: 0 });
  await expect(client.getHealth()).rejects.toMatchObject({
    code: 'API_UNREACHABLE',
    status: 0,
    message: expect.stringMatching(new RegExp(`cannot reach http://127.0.0.1:${port}: .*ECONNREFUSED`)),
  });
});

test('retries only idempotent requests after a temporary refusal', async () => {
  let refusals = 2;
  const passing = () =>
    refusals-- > 0 ? new Refusal(503, 'DATABASE_UNREACHABLE', { 'retry-after': '0' }) : null;
  const server = await startContractServer({
    getJob: () => passing() ?? exampleJob(),
    createJob: () => passing() ?? { jobId: JOB_ID, created: true },
    pauseJob: () => passing() ?? { changed: true, state: 'PAUSED' },
  });
  const client = createClient({ baseUrl: server.url });
  expect((await client.getJob({ jobId: JOB_ID })).jobId).toBe(JOB_ID);
  expect(server.asked).toHaveLength(3);
  refusals = 1;
  await client.createJob({ pipeline: 'echo', items: [{ n: 1 }] }, { idempotencyKey: 'once' });
  expect(server.asked.slice(3).map((each) => each.headers['idempotency-key'])).toEqual(['once', 'once']);
  refusals = 1;
  await expect(client.createJob({ pipeline: 'echo', items: [] })).rejects.toMatchObject({ status: 503 });
  refusals = 1;
  await expect(client.pauseJob({ jobId: JOB_ID })).rejects.toMatchObject({ retryAfterMs: 0 });
  refusals = Number.POSITIVE_INFINITY;
  const before = server.asked.length;
  const patient = createClient({ baseUrl: server.url, maxRetries: 1 });
  await expect(patient.getJob({ jobId: JOB_ID })).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
  expect(server.asked.length - before).toBe(2);
});

test('reconnects after a broken connection, and does not wait for a Retry-After that is too long', async () => {
  let breaks = 1;
  const server = await startContractServer({
    getJob: ({ reply }) => {
      if (breaks-- <= 0) return exampleJob();
      reply.destroy();
      return undefined;
    },
    getStats: () => new Refusal(429, 'RATE_LIMITED', { 'retry-after': '3600' }),
  });
  const client = createClient({ baseUrl: server.url });
  expect((await client.getJob({ jobId: JOB_ID })).jobId).toBe(JOB_ID);
  expect(server.asked).toHaveLength(2);
  await expect(client.getStats()).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 3_600_000 });
});

test('a signal ends a running request, and the wait before a retry', async () => {
  const stop = new AbortController();
  const server = await startContractServer({
    getJob: () => {
      stop.abort(new Error('enough'));
      return undefined;
    },
    getStats: () => {
      waiting.abort(new Error('no more'));
      return new Refusal(503, 'DATABASE_UNREACHABLE', { 'retry-after': '20' });
    },
  });
  const waiting = new AbortController();
  const client = createClient({ baseUrl: server.url });
  await expect(client.getJob({ jobId: JOB_ID }, { signal: stop.signal })).rejects.toThrow('enough');
  await expect(client.getStats({}, { signal: waiting.signal })).rejects.toThrow('no more');
  expect(server.asked).toHaveLength(2);
});

test('checks answers against the contract only on request', async () => {
  const server = await startContractServer({
    getSetup: ({ reply }) => {
      reply.writeHead(200, { 'content-type': 'application/json' });
      reply.end('{"needed":"perhaps"}');
    },
  });
  expect(await createClient({ baseUrl: server.url }).getSetup()).toEqual({ needed: 'perhaps' });
  await expect(createClient({ baseUrl: server.url, validate: true }).getSetup()).rejects.toMatchObject({
    code: 'API_ANSWER_INVALID',
    message: expect.stringContaining('/api/setup returned a response that does not match its schema: needed'),
  });
});

test('fetches pages one after the other, only as far as the reader goes', async () => {
  const pages: Record<string, { items: number[]; next: string | null }> = {
    first: { items: [5, 6], next: 'b' },
    b: { items: [7, 8], next: 'c' },
    c: { items: [9], next: null },
  };
  const server = await startContractServer({
    listItems: ({ query }) => {
      const { items, next } = pages[(query.cursor as string | undefined) ?? 'first']!;
      return { items: items.map((seq) => exampleItem(seq)), next, previous: null, looked: 0 };
    },
  });
  const client = createClient({ baseUrl: server.url });
  const seqs: number[] = [];
  for await (const item of client.pages('listItems', { jobId: JOB_ID, fromSeq: 5, limit: 2 }))
    seqs.push(item.seq);
  expect(seqs).toEqual([5, 6, 7, 8, 9]);
  expect(server.asked.map(({ query }) => [query.fromSeq, query.cursor])).toEqual([
    [5, undefined],
    [undefined, 'b'],
    [undefined, 'c'],
  ]);
  for await (const item of client.pages('listItems', { jobId: JOB_ID })) if (item.seq === 6) break;
  expect(server.asked).toHaveLength(4);
});

test('a download has the name of the file, its length and its bytes', async () => {
  const server = await startContractServer({
    downloadFile: ({ reply }) => {
      reply.writeHead(200, {
        'content-type': 'text/csv',
        'content-length': 4,
        'content-disposition': `attachment; filename="_.csv"; filename*=UTF-8''%2E%2E%2Fgr%C3%B6%C3%9Fe.csv`,
      });
      reply.end('a\n1\n');
    },
    exportJob: ({ reply }) => {
      reply.writeHead(200, {
        'content-type': 'text/csv',
        'content-disposition': 'attachment; filename=".."',
      });
      reply.end('b');
    },
    getMetrics: ({ reply }) => {
      reply.writeHead(200, { 'content-type': 'text/plain' });
      reply.end('rowmill_up 1');
    },
  });
  const client = createClient({ baseUrl: server.url });
  const file = await client.download('downloadFile', { jobId: JOB_ID, fileId: 'f' });
  expect(file).toMatchObject({ name: '.._größe.csv', bytes: 4, contentType: 'text/csv' });
  expect(await new Response(file.stream).text()).toBe('a\n1\n');
  const exported = await client.download('exportJob', { jobId: JOB_ID, format: 'csv', raw: true });
  expect(exported).toMatchObject({ name: 'download', bytes: null });
  expect(await new Response(exported.stream).text()).toBe('b');
  expect(await client.getMetrics()).toBe('rowmill_up 1');
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

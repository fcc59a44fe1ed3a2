// Results as files over HTTP: their content, and the cost of slow, lost and greedy readers.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { newId } from '../../src/platform/random.ts';
import { doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const pipelines = [doubling];

async function finishedJob({ url }: RunningApi, items: object[]): Promise<string> {
  const { body } = await send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items });
  const slice = await send(url, 'POST', `/api/jobs/${body.jobId}/slice?durationMs=60000`);
  expect(slice.body.finished).toBe(true);
  return body.jobId as string;
}

const ROWS = 400;

/** A job with 40 MB of results, more than a socket buffers, inserted directly into the database. */
const jobOfMegabytes = newId();
beforeAll(async () => {
  const jobId = jobOfMegabytes;
  await database.query(
    `insert into jobs (job_id, owner_id, pipeline, phases, state, item_count, sealed_at, input_columns)
     values ($1, 'local', 'doubling', '{double}', 'DONE', $2, now(), '[{"key": "text", "header": "text"}]')`,
    [jobId, ROWS],
  );
  await database.query(
    `insert into items (job_id, seq, input_bytes, input)
     select $1, seq, 100000, jsonb_build_object('text', repeat(md5(seq::text), 3125)) from generate_series(0, $2 - 1) as seq`,
    [jobId, ROWS],
  );
});

/** Counts the pages that exports read. */
function countPages({ context }: RunningApi): () => number {
  const { db } = context.engine;
  const runArrays = db.runArrays.bind(db);
  let pages = 0;
  Object.assign(db, {
    runArrays: (...args: Parameters<typeof runArrays>) => {
      if (args[0].name.startsWith('export-whole-page')) pages += 1;
      return runArrays(...args);
    },
  });
  return () => pages;
}

/** Sends a request and reads only the first bytes. */
async function readBeginning(url: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
  await once(socket, 'readable');
  return socket;
}

describe('an export', () => {
  test('is an attachment in each format, with the filters of the list', async () => {
    const api = await startTestApi(database.url, { pipelines });
    const jobId = await finishedJob(api, [
      { n: 1, note: 'a,"b"' },
      { n: 13, note: '=cmd' },
      { n: 3, note: 'ü' },
    ]);
    const get = (query: string) => send(api.url, 'GET', `/api/jobs/${jobId}/export${query}`);
    const csv = await get('');
    expect(csv.status).toBe(200);
    expect(Object.fromEntries(csv.headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': expect.stringMatching(/^attachment; filename="rowmill-[\da-f]{8}-results\.csv"/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': 'sandbox',
    });
    expect(csv.body).toBe(
      `n,note,doubled,status,error,attempts\n1,"a,""b""",2,DONE,,1\n13,"'=cmd",,ERROR,thirteen is broken,1\n3,ü,6,DONE,,1\n`,
    );
    expect((await get('?raw=true&statuses=ERROR')).body).toContain('\n13,=cmd,');
    const withMark = await fetch(`${api.url}/api/jobs/${jobId}/export?bom=true`);
    expect(Buffer.from(await withMark.arrayBuffer()).subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
    expect((await get('?delimiter=%3B')).body).toContain('\n1;"a,""b""";2;DONE;;1\n');
    expect((await get('?delimiter=x')).status).toBe(400);
    const lines = (await get('?format=jsonl&search=thirteen')).body.trimEnd().split('\n');
    expect(lines.map((line: string) => JSON.parse(line).seq)).toEqual([1]);
    const head = await fetch(`${api.url}/api/jobs/${jobId}/export`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
    const xlsx = await fetch(`${api.url}/api/jobs/${jobId}/export?format=xlsx`);
    expect(
      Buffer.from(await xlsx.arrayBuffer())
        .subarray(0, 2)
        .toString(),
    ).toBe('PK');
    const audit = await database.query(
      `select actor, detail ->> 'format' as format from audit where subject = $1 and action = 'job.export'`,
      [`job ${jobId}`],
    );
    expect(audit.map(({ format }) => format as string)).toEqual([
      'csv',
      'csv',
      'csv',
      'csv',
      'jsonl',
      'csv',
      'xlsx',
    ]);
  });

  test('has the requested rows and columns, in that order', async () => {
    const api = await startTestApi(database.url, { pipelines });
    const jobId = await finishedJob(
      api,
      Array.from({ length: 6 }, (_, n) => ({ n })),
    );
    const get = (query: string) => send(api.url, 'GET', `/api/jobs/${jobId}/export${query}`);
    expect((await get('?rows=4,0-1&columns=doubled,n')).body).toBe('doubled,n\n0,0\n2,1\n8,4\n');
    const names = encodeURIComponent('["status","n"]');
    expect((await get(`?rows=5&format=jsonl&columns=${names}`)).body).toBe('{"status":"DONE","n":5}\n');
  });

  test.each([
    ['?columns=nothing', 'EXPORT_INVALID'],
    ['?columns=[1]', 'EXPORT_INVALID'],
    ['?rows=5-1', 'EXPORT_INVALID'],
    ['?generation=9', 'EXPORT_INVALID'],
    ['?format=pdf', 'REQUEST_INVALID'],
    ['?statuses=GONE', 'REQUEST_INVALID'],
    ['?unknown=1', 'REQUEST_INVALID'],
  ])('%s is refused before the first byte', async (query, code) => {
    const api = await startTestApi(database.url, { pipelines });
    const jobId = await finishedJob(api, [{ n: 1 }]);
    for (const method of ['GET', 'POST']) {
      const { status, body } = await send(api.url, method, `/api/jobs/${jobId}/export${query}`);
      expect([status, body.code]).toEqual([400, code]);
    }
    // A refused export holds no slot.
    expect((await send(api.url, 'GET', `/api/jobs/${jobId}/export`)).status).toBe(200);
    expect((await send(api.url, 'GET', `/api/jobs/${jobId}/export`)).status).toBe(200);
    expect((await send(api.url, 'GET', `/api/jobs/${jobId}/export`)).status).toBe(200);
  });
});

describe('a slow reader', () => {
  test('holds no database connection, and the server reads no further than the client does', async () => {
    const jobId = jobOfMegabytes;
    const api = await startTestApi(database.url, {
      pipelines,
      settings: { apiConnections: 2, exportsAtOnce: 3, exportPageRows: 10 },
    });
    const pages = countPages(api);
    const path = `/api/jobs/${jobId}/export`;
    const slow = await Promise.all(Array.from({ length: 3 }, () => readBeginning(api.url, path)));
    // Other requests get a connection, one after the other.
    for (let round = 0; round < 5; round += 1) {
      const made = await send(api.url, 'POST', '/api/jobs', { pipeline: 'doubling', items: [{ n: 1 }] });
      expect(made.status).toBe(202);
    }
    expect(pages()).toBeLessThan((3 * ROWS) / 10);
    const fourth = await send(api.url, 'GET', path);
    expect([fourth.status, fourth.body.code]).toEqual([429, 'TOO_MANY_EXPORTS']);
    expect(fourth.body.message).toContain('exportsAtOnce');
    expect(Number(fourth.headers.get('retry-after'))).toBeGreaterThan(0);
    for (const socket of slow) socket.destroy();
    // After a disconnect the server stops reading, and the slot is free.
    await expect.poll(() => api.context.slots.exports.take('local', 1) !== null).toBe(true);
    const read = pages();
    expect((await send(api.url, 'GET', '/healthz')).status).toBe(200);
    expect(pages()).toBe(read);
    expect(read).toBeLessThan((3 * ROWS) / 10);
  });

  test('gets the whole file in the end', async () => {
    const jobId = jobOfMegabytes;
    const api = await startTestApi(database.url, { pipelines, settings: { exportPageRows: 10 } });
    const response = await fetch(`${api.url}/api/jobs/${jobId}/export?columns=text`);
    let bytes = 0;
    for await (const chunk of response.body!) bytes += (chunk as Uint8Array).length;
    expect(bytes).toBe('text\n'.length + ROWS * 100_001);
    await expect.poll(() => api.context.slots.exports.take('local', 1) !== null).toBe(true);
  });

  test('that reads nothing at all is disconnected', async () => {
    const jobId = jobOfMegabytes;
    const api = await startTestApi(database.url, {
      pipelines,
      settings: { apiIdleMs: 300, exportsAtOnce: 1, exportPageRows: 10 },
    });
    const socket = await readBeginning(api.url, `/api/jobs/${jobId}/export`);
    await expect.poll(() => api.context.slots.exports.take('local', 1) !== null).toBe(true);
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text = (text + part).slice(-10);
    });
    await once(socket, 'close');
    // The last chunk is missing, so that the client notices the incomplete file.
    expect(text.endsWith('0\r\n\r\n')).toBe(false);
  });

  test('notices an error by a broken connection', async () => {
    const jobId = jobOfMegabytes;
    const api = await startTestApi(database.url, { pipelines, settings: { exportPageRows: 10 } });
    const response = await fetch(`${api.url}/api/jobs/${jobId}/export`);
    expect(response.status).toBe(200);
    const reader = response.body!.getReader();
    await reader.read();
    await database.query('alter table items rename to items_away');
    try {
      const rest = async () => {
        while (!(await reader.read()).done);
      };
      await expect(rest()).rejects.toThrow();
    } finally {
      await database.query('alter table items_away rename to items');
    }
  });
});

test('rejected rows are a separate file, without filters', async () => {
  const { url, context } = await startTestApi(database.url, { pipelines });
  const upload = uploadForm(
    { pipeline: 'doubling' },
    'n,note\n1,one\n2,two,three\n3,three\n4,four\n5,"=a",b\n',
  );
  const made = await send(url, 'POST', '/api/jobs', upload);
  expect(made.status, JSON.stringify(made.body)).toBe(202);
  const { jobId } = made.body;
  await context.background.whenIdle();
  const path = `/api/jobs/${jobId}/export?kind=rejected`;
  const { status, body, headers } = await send(url, 'GET', `${path}&format=jsonl`);
  expect(status).toBe(200);
  expect(headers.get('content-disposition')).toMatch(/rejected\.jsonl/);
  const rows = (body as string)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { line: number; raw: string });
  expect(rows.map(({ line, raw }) => [line, raw])).toEqual([
    [3, '2,two,three'],
    [6, '5,"=a",b'],
  ]);
  const filtered = await send(url, 'GET', `${path}&statuses=DONE`);
  expect([filtered.status, filtered.body.code]).toEqual([400, 'EXPORT_INVALID']);
  const listed = await send(url, 'GET', `/api/jobs/${jobId}/rejected`);
  expect(listed.body.items).toHaveLength(2);
});

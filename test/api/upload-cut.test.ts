// Interrupted uploads over real sockets: no job appears, and no file or slot is left behind.
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const BOUNDARY = 'cut';
const temporary = mkdtempSync(join(tmpdir(), 'rowmill-cut-tmp-'));
let blobStore: string;

// Its own folder for temporary files, which no other program writes to.
process.env.TMPDIR = temporary;
beforeEach(() => {
  blobStore = mkdtempSync(join(dirname(temporary), 'rowmill-cut-blobs-'));
});
afterEach(() => rmSync(blobStore, { recursive: true, force: true }));
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

const HEAD = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="job"\r\n\r\n{"pipeline":"doubling"}\r\n--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="rows.csv"\r\n\r\n`;
const TAIL = `\r\n--${BOUNDARY}--\r\n`;

async function beginUpload(
  url: string,
  length: number | 'chunked',
  path = '/api/jobs',
): Promise<{ socket: Socket; answer: Promise<string> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  socket.on('error', () => {});
  const answer = once(socket, 'close').then(() => text);
  const size = length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`;
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: close\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\n${size}\r\n\r\n`,
  );
  return { socket, answer };
}

const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

/** Lists every file below a folder. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function temporaryFiles(): string[] {
  return readdirSync(temporary);
}

async function jobCount(): Promise<number> {
  return (await database.query('select job_id from jobs')).length;
}

describe('an interrupted upload', () => {
  const body = HEAD + csvOf(20_000) + TAIL;
  const cuts: [string, (socket: Socket) => void][] = [
    ['by a reset', (socket) => void socket.resetAndDestroy()],
    ['by a close', (socket) => void socket.destroy()],
    ['by an end before the declared length', (socket) => void socket.end()],
  ];

  test.each(cuts)('%s leaves no job, no blob and no temporary file', async (_, cut) => {
    const jobs = await jobCount();
    const { url, context } = await startTestApi(database.url, {
      pipelines: [doubling],
      settings: { blobStore },
    });
    const { socket, answer } = await beginUpload(url, Buffer.byteLength(body));
    socket.write(body.slice(0, body.length / 2));
    // Its bytes are being written to the store.
    await expect.poll(() => filesIn(blobStore).length).toBe(1);
    cut(socket);
    await answer;
    await expect.poll(() => filesIn(blobStore)).toEqual([]);
    await expect.poll(() => context.slots.uploads.take('local', 1) !== null).toBe(true);
    expect(await jobCount()).toBe(jobs);
    expect(temporaryFiles()).toEqual([]);
  });

  test('is incomplete without its last boundary', async () => {
    const { url } = await startTestApi(database.url, { pipelines: [doubling], settings: { blobStore } });
    const jobs = await jobCount();
    const { socket, answer } = await beginUpload(url, 'chunked');
    // The file is complete but the request is not: another part could follow.
    socket.write(chunk(HEAD + csvOf(10) + TAIL.slice(0, -4)));
    await expect.poll(() => filesIn(blobStore).length).toBe(1);
    socket.write('0\r\n\r\n');
    expect(await answer).toMatch(/^HTTP\/1.1 400 [\s\S]*FILE_INCOMPLETE/);
    expect(filesIn(blobStore)).toEqual([]);
    expect(await jobCount()).toBe(jobs);
  });

  test('that stalls is answered, and its connection is closed', async () => {
    const { url } = await startTestApi(database.url, {
      pipelines: [doubling],
      settings: { blobStore, apiIdleMs: 200 },
    });
    const jobs = await jobCount();
    const { socket, answer } = await beginUpload(url, Buffer.byteLength(body));
    socket.write(body.slice(0, 50_000));
    const text = await answer;
    expect(text).toMatch(/^HTTP\/1.1 400 [\s\S]*FILE_INCOMPLETE/);
    expect(text).toContain('apiIdleMs');
    expect(filesIn(blobStore)).toEqual([]);
    expect(await jobCount()).toBe(jobs);
  });

  test('of a preview leaves nothing either', async () => {
    const { url, context } = await startTestApi(database.url, {
      pipelines: [doubling],
      settings: { blobStore },
    });
    const { socket, answer } = await beginUpload(url, Buffer.byteLength(body), '/api/jobs/preview');
    socket.write(body.slice(0, body.length / 2));
    await expect.poll(() => temporaryFiles().length).toBe(1);
    socket.destroy();
    await answer;
    await expect.poll(() => temporaryFiles()).toEqual([]);
    expect(filesIn(blobStore)).toEqual([]);
    await expect.poll(() => context.slots.uploads.take('local', 1) !== null).toBe(true);
  });
});

describe('slow uploads', () => {
  test('hold no database connection, and are limited per caller', async () => {
    const { url } = await startTestApi(database.url, {
      pipelines: [doubling],
      settings: { blobStore, apiConnections: 2, uploadsAtOnce: 3 },
    });
    const body = HEAD + csvOf(100, 7000) + TAIL;
    const slow = await Promise.all(
      Array.from({ length: 3 }, () => beginUpload(url, Buffer.byteLength(body))),
    );
    for (const { socket } of slow) socket.write(body.slice(0, -10));
    await expect.poll(() => filesIn(blobStore).length).toBe(3);
    // If uploads held connections, this would wait forever: there are two connections for three uploads.
    const made = await send(url, 'POST', '/api/jobs', { pipeline: 'doubling', items: [{ n: 1 }] });
    expect(made.status).toBe(202);
    const fourth = await send(url, 'POST', '/api/jobs', uploadForm({ pipeline: 'doubling' }, csvOf(1)));
    expect([fourth.status, fourth.body.code]).toEqual([429, 'RATE_LIMITED']);
    expect(fourth.body.message).toContain('uploadsAtOnce');
    expect(fourth.headers.get('retry-after')).not.toBeNull();
    for (const { socket } of slow) socket.write(body.slice(-10));
    const answers = await Promise.all(slow.map(({ answer }) => answer));
    for (const text of answers) expect(text).toMatch(/^HTTP\/1.1 202 /);
  });

  test('that are refused at the beginning leave the connection usable', async () => {
    const { url } = await startTestApi(database.url, { pipelines: [doubling], settings: { blobStore } });
    for (let round = 0; round < 3; round += 1) {
      const form = uploadForm({ pipeline: 'nothing' }, csvOf(50_000));
      const { status, body } = await send(url, 'POST', '/api/jobs', form);
      expect([status, body.code]).toEqual([404, 'PIPELINE_NOT_FOUND']);
    }
    expect((await send(url, 'GET', '/healthz')).status).toBe(200);
    expect(filesIn(blobStore)).toEqual([]);
  });
});

describe('an invalid body', () => {
  const part = (disposition: string, content: string, type = ''): string =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; ${disposition}\r\n${type && `content-type: ${type}\r\n`}\r\n${content}\r\n`;
  const job = part('name="job"', '{"pipeline":"doubling"}');
  const file = part('name="file"; filename="rows.csv"', csvOf(2));
  const end = `--${BOUNDARY}--\r\n`;
  const bodies: [string, string, string][] = [
    ['nothing at all', '', 'REQUEST_INVALID'],
    ['no part', end, 'REQUEST_INVALID'],
    ['no file', job + end, 'REQUEST_INVALID'],
    ['no boundary', 'hello', 'FILE_INCOMPLETE|REQUEST_INVALID'],
    ['a job that is not JSON', part('name="job"', '{') + file + end, 'REQUEST_INVALID'],
    [
      'a job that claims to be JSON',
      part('name="job"', '{', 'application/json') + file + end,
      'REQUEST_INVALID',
    ],
    ['a job that is a list', part('name="job"', '[]') + file + end, 'REQUEST_INVALID'],
    ['a job that is too long', part('name="job"', `"${'x'.repeat(5000)}"`) + file + end, 'BODY_TOO_LARGE'],
    [
      'a typed job that is too long',
      part('name="job"; filename="blob"', `"${'x'.repeat(5000)}"`, 'application/json') + file + end,
      'BODY_TOO_LARGE',
    ],
    ['a field of a prototype', part('name="__proto__"', 'x') + file + end, 'REQUEST_INVALID'],
    ['another field', part('name="other"', 'x') + file + end, 'REQUEST_INVALID'],
    [
      'a file part with another name',
      job + part('name="data"; filename="a.csv"', csvOf(2)) + end,
      'REQUEST_INVALID',
    ],
    ['two files', job + file + file + end, 'REQUEST_INVALID|BODY_TOO_LARGE'],
    ['a part after the file', job + file + part('name="more"', 'x') + end, 'REQUEST_INVALID|BODY_TOO_LARGE'],
    ['many parts', part('name="job"', '{}').repeat(20) + file + end, 'REQUEST_INVALID|BODY_TOO_LARGE'],
  ];

  test('without a boundary in its content type is refused', async () => {
    const { url } = await startTestApi(database.url, { pipelines: [doubling], settings: { blobStore } });
    const headers = { 'content-type': 'multipart/form-data' };
    const response = await fetch(`${url}/api/jobs`, { method: 'POST', headers, body: job + file + end });
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
      400,
      'REQUEST_INVALID',
    ]);
  });

  test.each(bodies)('with %s is refused in one answer', async (_, text, codes) => {
    for (const path of ['/api/jobs', '/api/jobs/preview']) {
      const { url } = await startTestApi(database.url, {
        pipelines: [doubling],
        settings: { blobStore, apiBodyMaxBytes: 2000, apiIdleMs: 5000 },
      });
      const jobs = await jobCount();
      const { socket, answer } = await beginUpload(url, Buffer.byteLength(text), path);
      socket.write(text);
      const answered = await answer;
      // A preview needs no pipeline.
      if (path.endsWith('preview') && codes === 'REQUEST_INVALID' && answered.startsWith('HTTP/1.1 200'))
        continue;
      expect(answered).toMatch(/^HTTP\/1.1 4\d\d /);
      expect(answered).toMatch(new RegExp(`"code":"(${codes})"`));
      expect(await jobCount()).toBe(jobs);
      expect(filesIn(blobStore)).toEqual([]);
      expect(temporaryFiles()).toEqual([]);
    }
  });
});

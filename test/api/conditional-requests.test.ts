// Conditional requests, compression, and ranges of files.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { RunningApi } from '../../src/api/start-api.ts';
import { csvOf, doubling, send, uploadForm } from '../support/api-pipelines.ts';
import { startS3Stub } from '../support/s3-stub.ts';
import { stopAfterTest } from '../support/stop-after-test.ts';
import { startTestApi } from '../support/test-api.ts';
import { useTestDatabase } from '../support/test-database.ts';

const database = useTestDatabase();
const blobStore = mkdtempSync(join(tmpdir(), 'rowmill-ranges-'));
afterAll(() => rmSync(blobStore, { recursive: true, force: true }));
const text = csvOf(300);
const etag = `"${createHash('sha256').update(text).digest('hex')}"`;

const start = (): Promise<RunningApi> =>
  startTestApi(database.url, { pipelines: [doubling], settings: { blobStore, sweepMs: 60_000 } });

let jobId: string;
let list: string;
let file: string;
beforeAll(async () => {
  const api = await start();
  const job = { pipeline: 'doubling', again: true, hold: true };
  jobId = (await send(api.url, 'POST', '/api/v1/jobs', uploadForm(job, text))).body.jobId;
  await api.context.background.whenIdle();
  await api.stop();
  list = `/api/v1/jobs/${jobId}/items?limit=200`;
  file = `/api/v1/jobs/${jobId}/files/input`;
});

/** Returns the bytes as they are on the wire. */
function ask(
  url: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; headers: IncomingHttpHeaders; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    request(url, { method, headers, agent: false }, (response) => {
      response.toArray().then((chunks: Buffer[]) => {
        resolve({ status: response.statusCode!, headers: response.headers, bytes: Buffer.concat(chunks) });
      }, reject);
    })
      .on('error', reject)
      .end();
  });
}

describe('an answer', () => {
  test('that the client already has is not sent again, unless it changed', async () => {
    const { url } = await start();
    const path = `${url}/api/v1/jobs/${jobId}`;
    const first = await ask(path);
    expect(first.headers.etag).toMatch(/^W\/"[\w-]{27}"$/);
    for (const known of [first.headers.etag!, `"x", ${first.headers.etag}`, '*']) {
      const again = await ask(path, { 'if-none-match': known });
      expect([again.status, again.bytes.length, again.headers.etag]).toEqual([304, 0, first.headers.etag]);
    }
    await send(url, 'PATCH', `/api/v1/jobs/${jobId}`, { name: `renamed ${first.headers.etag}` });
    const changed = await ask(path, { 'if-none-match': first.headers.etag! });
    expect([changed.status, changed.headers.etag === first.headers.etag]).toEqual([200, false]);
    const head = await ask(path, {}, 'HEAD');
    expect([head.status, head.bytes.length, head.headers.etag]).toEqual([200, 0, changed.headers.etag]);
  });

  test('is compressed on request, and is the same answer', async () => {
    const { url } = await start();
    const plain = await ask(url + list);
    expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([undefined, 'accept-encoding']);
    const gzip = await ask(url + list, { 'accept-encoding': 'gzip, deflate' });
    const brotli = await ask(url + list, { 'accept-encoding': 'gzip, deflate, br' });
    expect([gzip.headers['content-encoding'], brotli.headers['content-encoding']]).toEqual(['gzip', 'br']);
    expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    expect(brotliDecompressSync(brotli.bytes).equals(plain.bytes)).toBe(true);
    expect(gzip.bytes.length * 4).toBeLessThan(plain.bytes.length);
    expect(gzip.headers.etag).toBe(plain.headers.etag);
    for (const refused of ['identity', 'gzip;q=0', 'compress', ';;'])
      expect(
        (await ask(url + list, { 'accept-encoding': refused })).headers['content-encoding'],
      ).toBeUndefined();
  });

  test('with a part of the page is sent in a compressed form, which has no address of its own', async () => {
    const { url } = await start();
    const html = (await ask(`${url}/`, { accept: 'text/html' })).bytes.toString();
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(html)![1]!;
    const plain = await ask(url + script);
    const brotli = await ask(url + script, { 'accept-encoding': 'br' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(brotli.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(brotli.bytes).equals(plain.bytes)).toBe(true);
    expect((await ask(`${url}${script}.br`)).status).toBe(404);
  });

  test('to a request that changes something, a refusal or a stream of events is never compressed', async () => {
    const { url } = await start();
    const accept = { 'accept-encoding': 'gzip, br' };
    const long = 'x'.repeat(3000);
    const answers = [
      await fetch(`${url}/api/v1/jobs/${jobId}`, {
        method: 'PATCH',
        headers: { ...accept, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'still' }),
      }),
      await fetch(`${url}/api/v1/jobs?${long}=1`, { headers: accept }),
      await fetch(`${url}/api/v1/events`, { headers: accept }),
    ];
    for (const answer of answers) {
      expect(answer.headers.get('content-encoding')).toBeNull();
      expect(answer.headers.get('etag')).toBeNull();
      await answer.body?.cancel();
    }
  });

  test('that is an export is compressed while it is generated', async () => {
    const { url } = await start();
    const path = `${url}/api/v1/jobs/${jobId}/export?format=csv`;
    const plain = await ask(path);
    const gzip = await ask(path, { 'accept-encoding': 'gzip' });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    const workbook = await ask(path.replace('csv', 'xlsx'), { 'accept-encoding': 'gzip' });
    expect(workbook.headers['content-encoding']).toBeUndefined();
    expect(plain.headers['accept-ranges']).toBe('none');
  });
});

describe('a file', () => {
  const bytes = Buffer.from(text);

  test.each([
    ['bytes=0-9', 0, 10],
    ['bytes=100-', 100, bytes.length],
    ['bytes=-7', bytes.length - 7, bytes.length],
    ['bytes=10-999999999', 10, bytes.length],
  ])('is sent in part for %s', async (range, from, to) => {
    const { url } = await start();
    const part = await ask(url + file, { range });
    expect(part.status).toBe(206);
    expect(part.headers).toMatchObject({
      'content-range': `bytes ${from}-${to - 1}/${bytes.length}`,
      'content-length': String(to - from),
      etag,
    });
    expect(part.bytes.equals(bytes.subarray(from, to))).toBe(true);
  });

  test('is the same when an interrupted client resumes with ranges', async () => {
    const { url } = await start();
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 1000) {
      const part = await ask(url + file, { range: `bytes=${at}-${at + 999}`, 'if-range': etag });
      expect(part.status).toBe(206);
      parts.push(part.bytes);
    }
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  });

  test('is sent in part from S3 too', async () => {
    const s3 = await startS3Stub();
    stopAfterTest(() => s3.stop());
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'rowmill');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
    const settings = { blobStore: `s3://${s3.bucket}/ranges?endpoint=${s3.endpoint}`, sweepMs: 60_000 };
    const api = await startTestApi(database.url, { pipelines: [doubling], settings });
    const job = { pipeline: 'doubling', again: true, hold: true };
    const made = await send(api.url, 'POST', '/api/v1/jobs', uploadForm(job, text));
    await api.context.background.whenIdle();
    const input = `${api.url}/api/v1/jobs/${made.body.jobId}/files/input`;
    for (const [range, from, to] of [
      ['bytes=100-199', 100, 200],
      ['bytes=-7', bytes.length - 7, bytes.length],
    ] as const) {
      const part = await ask(input, { range, 'if-range': etag });
      expect([part.status, part.headers['content-range']]).toEqual([
        206,
        `bytes ${from}-${to - 1}/${bytes.length}`,
      ]);
      expect(part.bytes.equals(bytes.subarray(from, to))).toBe(true);
    }
    const behind = await ask(input, { range: `bytes=${bytes.length}-` });
    expect(behind.status).toBe(416);
    expect((await ask(input)).bytes.equals(bytes)).toBe(true);
  });

  test('is sent whole if the range is invalid or the file has changed', async () => {
    const { url } = await start();
    const whole = await ask(url + file);
    expect(whole.headers).toMatchObject({ 'accept-ranges': 'bytes', etag });
    const modified = whole.headers['last-modified']!;
    for (const headers of [
      { range: 'bytes=9-2' },
      { range: 'bytes=0-1,5-6' },
      { range: 'rows=0-1' },
      { range: 'bytes=0-1', 'if-range': '"another"' },
      { range: 'bytes=0-1', 'if-range': `W/${etag}` },
      { range: 'bytes=0-1', 'if-range': 'Thu, 01 Jan 1970 00:00:00 GMT' },
    ] as Record<string, string>[]) {
      const answer = await ask(url + file, headers);
      expect([headers, answer.status, answer.bytes.length]).toEqual([headers, 200, bytes.length]);
    }
    expect((await ask(url + file, { range: 'bytes=0-1', 'if-range': modified })).status).toBe(206);
  });

  test('refuses a range after its end', async () => {
    const { url } = await start();
    const answer = await ask(url + file, { range: `bytes=${bytes.length}-` });
    expect([answer.status, answer.headers['content-range']]).toEqual([416, `bytes */${bytes.length}`]);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ code: 'RANGE_UNSATISFIABLE' });
  });

  test('that the client already has is not sent again, and HEAD returns its headers', async () => {
    const { url } = await start();
    const known = await ask(url + file, { 'if-none-match': etag });
    expect([known.status, known.bytes.length]).toEqual([304, 0]);
    const head = await ask(url + file, { range: 'bytes=0-1' }, 'HEAD');
    expect([head.status, head.headers['content-length'], head.bytes.length]).toEqual([
      200,
      String(bytes.length),
      0,
    ]);
  });
});

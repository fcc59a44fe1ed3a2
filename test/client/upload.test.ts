// File uploads with progress, as Node and as browsers send them.
import { request as httpRequest } from 'node:http';
import { afterEach, expect, test, vi } from 'vitest';
import { createClient } from '../../src/client/create-client.ts';
import type { UploadProgress } from '../../src/client/send-file.ts';
import { type Asked, Refusal, startContractServer } from './contract-server.ts';
import { JOB_ID } from './example-answers.ts';

afterEach(() => vi.unstubAllGlobals());

/** Reads the multipart body with another implementation. */
async function formOf({ headers, raw }: Asked): Promise<{ job: unknown; name: string; text: string }> {
  const form = await new Response(new Uint8Array(raw), {
    headers: { 'content-type': headers['content-type']! },
  }).formData();
  const file = form.get('file') as File;
  expect([...form.keys()]).toEqual(['job', 'file']);
  return { job: JSON.parse(form.get('job') as string), name: file.name, text: await file.text() };
}

const created = () => ({ jobId: JOB_ID, created: true });
const CHUNK = new TextEncoder().encode(`${'x'.repeat(999)}\n`);

test('streams the file, and reports its progress', async () => {
  const server = await startContractServer({ createJob: created });
  const client = createClient({ baseUrl: server.url, validate: true });
  const progress: UploadProgress[] = [];
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 50; n += 1) yield CHUNK;
  }
  const answer = await client.upload(
    { name: 'a "b" ü.csv', bytes: bytes(), size: 50_000 },
    { pipeline: 'echo', params: { a: 1 } },
    { onProgress: (each) => progress.push(each), idempotencyKey: 'k' },
  );
  expect(answer).toEqual({ jobId: JOB_ID, created: true });
  const sent = await formOf(server.asked[0]!);
  expect(sent.job).toEqual({ pipeline: 'echo', params: { a: 1 } });
  expect(sent.name).toBe('a "b" ü.csv');
  expect(sent.text).toHaveLength(50_000);
  expect(server.asked[0]!.headers).toMatchObject({ 'idempotency-key': 'k', 'transfer-encoding': 'chunked' });
  expect(progress).toHaveLength(50);
  expect(progress[0]).toEqual({ sent: 1000, total: 50_000 });
  expect(progress.at(-1)).toEqual({ sent: 50_000, total: 50_000 });
});

test('retries a Blob with a key after a temporary refusal, but not a stream', async () => {
  let refusals = 1;
  const server = await startContractServer({
    createJob: () => (refusals-- > 0 ? new Refusal(503, 'DATABASE_UNREACHABLE') : created()),
    previewJob: () => new Refusal(415, 'FILE_UNSUPPORTED'),
  });
  const client = createClient({ baseUrl: server.url });
  const options = { idempotencyKey: 'k', fileName: 'rows.csv' };
  await client.upload(new Blob(['n\n', '1\n']), { pipeline: 'echo' }, options);
  expect(server.asked).toHaveLength(2);
  expect(await formOf(server.asked[1]!)).toEqual({
    job: { pipeline: 'echo' },
    name: 'rows.csv',
    text: 'n\n1\n',
  });
  refusals = 1;
  const stream = new Blob(['n\n']).stream();
  await expect(
    client.upload({ name: 'rows.csv', bytes: stream }, { pipeline: 'echo' }, options),
  ).rejects.toMatchObject({ status: 503 });
  await expect(client.preview(new Blob(['\0']))).rejects.toMatchObject({ code: 'FILE_UNSUPPORTED' });
});

test('fails if the source fails, and stops on a signal', async () => {
  const server = await startContractServer({ createJob: created });
  const client = createClient({ baseUrl: server.url });
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield CHUNK;
    throw new Error('the disk is gone');
  }
  await expect(client.upload({ name: 'a.csv', bytes: broken() }, { pipeline: 'echo' })).rejects.toThrow(
    'the disk is gone',
  );
  const stop = new AbortController();
  let wasClosed = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield CHUNK;
    } finally {
      wasClosed = true;
    }
  }
  await expect(
    client.upload(
      { name: 'a.csv', bytes: endless() },
      { pipeline: 'echo' },
      { signal: stop.signal, onProgress: ({ sent }) => sent > 100_000 && stop.abort(new Error('enough')) },
    ),
  ).rejects.toThrow('enough');
  await expect.poll(() => wasClosed).toBe(true);
  expect(server.asked).toHaveLength(0);
});

/** Imitates a browser's XMLHttpRequest over a Node socket. */
class SocketXhr {
  upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null } = { onprogress: null };
  onload: (() => void) | null = null;
  onerror: (() => void) | null = null;
  onabort: (() => void) | null = null;
  status = 0;
  responseText = '';
  readonly #headers: Record<string, string> = {};
  #answered: Record<string, unknown> = {};
  #url = '';
  #method = '';
  #abort: (() => void) | null = null;

  open(method: string, url: string): void {
    this.#method = method;
    this.#url = url;
  }
  setRequestHeader(name: string, value: string): void {
    this.#headers[name] = value;
  }
  getResponseHeader(name: string): string | null {
    return (this.#answered[name] as string | undefined) ?? null;
  }
  abort(): void {
    this.#abort?.();
    this.onabort?.();
  }
  send(form: FormData): void {
    const packed = new Response(form);
    void packed.arrayBuffer().then((body) => {
      const headers = { ...this.#headers, 'content-type': packed.headers.get('content-type')! };
      const request = httpRequest(this.#url, { method: this.#method, headers }, (answer) => {
        this.#answered = answer.headers;
        this.status = answer.statusCode!;
        answer.on('data', (chunk) => {
          this.responseText += String(chunk);
        });
        answer.on('end', () => this.onload?.());
      });
      this.#abort = () => request.destroy();
      request.on('error', () => this.onerror?.());
      this.upload.onprogress?.({ loaded: body.byteLength / 2, total: body.byteLength });
      this.upload.onprogress?.({ loaded: body.byteLength, total: body.byteLength });
      request.end(Buffer.from(body));
    });
  }
}

test('uses XMLHttpRequest in a browser, which reports progress', async () => {
  vi.stubGlobal('XMLHttpRequest', SocketXhr);
  let answer: () => unknown = created;
  const server = await startContractServer({ createJob: () => answer() });
  const client = createClient({ baseUrl: server.url, apiKey: 'rmk_a_b' });
  const progress: UploadProgress[] = [];
  const file = new File([new Uint8Array(10_000).fill(65)], 'b.csv');
  const upload = (signal?: AbortSignal) =>
    client.upload(file, { pipeline: 'echo' }, { onProgress: (each) => progress.push(each), signal });
  expect(await upload()).toEqual({ jobId: JOB_ID, created: true });
  expect(await formOf(server.asked[0]!)).toMatchObject({ job: { pipeline: 'echo' }, name: 'b.csv' });
  expect(server.asked[0]!.headers.authorization).toBe('Bearer rmk_a_b');
  expect(progress.at(-1)).toEqual({ sent: 10_000, total: 10_000 });
  expect(progress[0]!.sent).toBeLessThan(10_000);
  answer = () => new Refusal(429, 'RATE_LIMITED', { 'retry-after': '7' });
  await expect(upload()).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 7000 });
  answer = () => {
    server.dropConnections();
    return undefined;
  };
  await expect(upload()).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
  const stop = new AbortController();
  answer = () => {
    stop.abort(new Error('enough'));
    return undefined;
  };
  await expect(upload(stop.signal)).rejects.toThrow('enough');
});

// The S3 adapter against a stub server. A small server in front of the stub adds the features that it lacks (copies,
// conditional deletes, encoded lists).
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type S3Stub, startS3Stub } from '../../../test/support/s3-stub.ts';
import { sha256Of, takeWholeFile } from '../../../test/support/take-whole-file.ts';
import { useTestDatabase } from '../../../test/support/test-database.ts';
import { withMethods } from '../../../test/support/with-methods.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { S3Source } from './s3-source.ts';
import { MAX_TRIES, scanSource } from './scan-source.ts';
import type { SourceAdapter } from './source-adapter.ts';
import type { S3SourceConfig } from './source-config.ts';

const database = useTestDatabase();
const NEVER = new AbortController().signal;
let stub: S3Stub;
let front: Server;
let source: string;

beforeAll(async () => {
  stub = await startS3Stub({ pageSize: 7 });
  front = await startFront(stub);
  process.env.TEST_S3_KEY = 'rowmill';
  process.env.TEST_S3_SECRET = 'secret';
});
afterAll(async () => {
  delete process.env.TEST_S3_KEY;
  delete process.env.TEST_S3_SECRET;
  front.closeAllConnections();
  front.close();
  await stub.stop();
});
beforeEach(() => {
  source = `s3-${newId().slice(0, 8)}`;
});
afterEach(() => stub.reset());

function put(key: string, content = key): void {
  const body = Buffer.from(content);
  stub.objects.set(key, {
    body,
    etag: `"${sha256Of(body).slice(0, 32)}"`,
    modifiedAt: new Date(),
    metadata: {},
  });
}

function poller(options: Partial<S3SourceConfig> = {}) {
  const context = database.context();
  const config: S3SourceConfig = {
    name: source,
    kind: 's3',
    pipeline: 'watched',
    bucket: stub.bucket,
    prefix: 'in/',
    endpoint: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    accessKeyIdEnv: 'TEST_S3_KEY',
    secretAccessKeyEnv: 'TEST_S3_SECRET',
    ...options,
  };
  const adapter = new S3Source(config, 1000);
  return {
    context,
    adapter,
    config,
    scan: (takeFile = takeWholeFile(context)) => scanSource(context, adapter, config, takeFile, NEVER),
  };
}

const jobs = () =>
  database.query<{ name: string; path: string; sha256: string }>(
    `select name, params ->> 'path' as path, params ->> 'sha256' as sha256
     from jobs where params ->> 'source' = $1 order by name, sha256`,
    [source],
  );
const rows = () =>
  database.query<{ state: string; reason: string | null }>(
    'select state, reason from source_files where source = $1',
    [source],
  );
const keys = () => [...stub.objects.keys()].sort();
const MOVE = { move: { done: 'done/', failed: 'failed/' } };

describe('objects', () => {
  it('become one job each, stay in place, and are remembered', async () => {
    put('in/a.csv', 'content a');
    put('in/sub/b.csv', 'content b');
    put('in/sub/', '');
    put('in/.hidden', 'x');
    put('elsewhere/c.csv', 'x');
    const { scan } = poller();
    expect(await scan()).toMatchObject({ found: 2, taken: 2 });
    expect(await jobs()).toEqual([
      { name: 'a.csv', path: 'a.csv', sha256: sha256Of('content a') },
      { name: 'b.csv', path: 'sub/b.csv', sha256: sha256Of('content b') },
    ]);
    expect(await scan()).toMatchObject({ found: 2, taken: 0, skipped: 2 });
    expect(await poller().scan()).toMatchObject({ found: 2, taken: 0, skipped: 2 });
    expect(keys()).toContain('in/a.csv');
  });

  it('are found on all pages of the list', async () => {
    for (let i = 0; i < 30; i += 1) put(`in/${i}.csv`);
    expect(await poller().scan()).toMatchObject({ found: 30, taken: 30 });
    expect(stub.requests.filter(({ operation }) => operation === 'ListObjects')).toHaveLength(5);
  });

  it('have names that are data', async () => {
    const names = ['a b+c%2e.csv', '..', 'x\u0001y\n.csv', '<&">.csv', 'ü😀.csv'];
    for (const name of names) put(`in/n/${name}`, name);
    const { scan } = poller();
    // A name that begins with two dots counts as a hidden file.
    expect(await scan()).toMatchObject({ taken: 4 });
    expect((await jobs()).map((job) => job.name).sort()).toEqual(
      names.filter((name) => name !== '..').sort(),
    );
  });

  it('that are replaced become another job', async () => {
    const { scan } = poller();
    put('in/a.csv', 'monday');
    await scan();
    put('in/a.csv', 'tuesday');
    expect(await scan()).toMatchObject({ taken: 1 });
    expect((await jobs()).map((job) => job.sha256).sort()).toEqual(
      [sha256Of('monday'), sha256Of('tuesday')].sort(),
    );
  });

  it('become one job each with two pollers', async () => {
    for (let i = 0; i < 20; i += 1) put(`in/${i}.csv`, `content ${i}`);
    const pollers = [poller(MOVE), poller(MOVE)];
    let taken = 0;
    while (keys().some((key) => key.startsWith('in/'))) {
      for (const report of await Promise.all(pollers.map(({ scan }) => scan()))) taken += report.taken;
    }
    expect(taken).toBe(20);
    const made = await jobs();
    expect(made).toHaveLength(20);
    expect(new Set(made.map((job) => job.sha256)).size).toBe(20);
    expect(keys().filter((key) => key.startsWith('done/'))).toHaveLength(20);
  });
});

describe('an object that is replaced', () => {
  it('between list and claim leaves no row, and the new one is taken next time', async () => {
    put('in/a.csv', 'old');
    const { context, adapter, config, scan } = poller();
    const slow = withMethods<SourceAdapter>(adapter, {
      hold(file) {
        put('in/a.csv', 'new');
        return adapter.hold(file);
      },
    });
    expect(await scanSource(context, slow, config, takeWholeFile(context), NEVER)).toMatchObject({
      waiting: 1,
    });
    expect(await rows()).toEqual([]);
    expect(await scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toMatchObject([{ sha256: sha256Of('new') }]);
  });

  it('between claim and download creates nothing from the old claim', async () => {
    put('in/a.csv', 'old');
    const { context, scan } = poller();
    const replaced = takeWholeFile(context, { beforeOpen: () => put('in/a.csv', 'new') });
    expect(await scan(replaced)).toMatchObject({ taken: 0, errors: 1 });
    expect(await jobs()).toEqual([]);
    expect(await scan()).toMatchObject({ taken: 1 });
    expect(await jobs()).toMatchObject([{ sha256: sha256Of('new') }]);
    // The claim of the old object is dropped.
    expect(await rows()).toEqual([{ state: 'done', reason: null }]);
  });

  it('before it is moved away is neither copied nor deleted', async () => {
    put('in/a.csv', 'old');
    const { context, scan } = poller(MOVE);
    const replaced = takeWholeFile(context, { afterJob: () => put('in/a.csv', 'new') });
    expect(await scan(replaced)).toMatchObject({ taken: 1 });
    expect(keys()).toEqual(['in/a.csv']);
    expect(await scan()).toMatchObject({ taken: 1 });
    expect((await jobs()).map((job) => job.sha256).sort()).toEqual([sha256Of('new'), sha256Of('old')].sort());
    expect(keys()).toEqual([expect.stringMatching(/^done\/.*-a\.csv$/)]);
  });
});

describe('moving', () => {
  it('puts failed objects and their reasons under the configured prefix', async () => {
    put('in/sub/a.csv', 'x');
    const { context, scan } = poller(MOVE);
    const refusing = takeWholeFile(context, {
      beforeJob: () => Promise.reject(new RowmillError('FILE_INVALID', 'no header')),
    });
    expect(await scan(refusing)).toMatchObject({ failed: 1 });
    expect(keys()).toEqual([
      expect.stringMatching(/^failed\/sub\/.*-a\.csv$/),
      expect.stringMatching(/^failed\/sub\/.*-a\.csv\.reason\.txt$/),
    ]);
    expect(stub.objects.get(keys()[1]!)!.body.toString()).toBe('no header\n');
  });

  it('that a crash interrupted is completed by the next scan, without a second job', async () => {
    put('in/a.csv', 'content');
    const { context, adapter, config, scan } = poller(MOVE);
    const dying = withMethods<SourceAdapter>(adapter, { settle: () => Promise.reject(new Error('gone')) });
    await scanSource(context, dying, config, takeWholeFile(context), NEVER);
    expect(keys()).toEqual(['in/a.csv']);
    expect(await scan()).toMatchObject({ taken: 0, skipped: 1 });
    expect(keys()).toEqual([expect.stringMatching(/^done\//)]);
    expect(await jobs()).toHaveLength(1);
  });
});

describe('faults', () => {
  it('in the middle of an object are retried, but not endlessly', async () => {
    put('in/a.csv', 'x'.repeat(100_000));
    const { scan } = poller();
    stub.fail('GetObject', { kind: 'cut', afterBytes: 50_000 }, MAX_TRIES);
    for (let i = 1; i < MAX_TRIES; i += 1) expect(await scan()).toMatchObject({ errors: 1, taken: 0 });
    expect(await scan()).toMatchObject({ failed: 1 });
    expect((await rows())[0]!.reason!.split('\n')).toHaveLength(MAX_TRIES);
    expect(await jobs()).toEqual([]);
  });

  it('end at the deadline', async () => {
    put('in/a.csv', 'x'.repeat(100_000));
    const { scan } = poller();
    stub.fail('GetObject', { kind: 'stall', afterBytes: 50_000 });
    expect(await scan()).toMatchObject({ errors: 1 });
    expect(await scan()).toMatchObject({ taken: 1 });
  });

  it('of the list are reported without credentials', async () => {
    put('in/a.csv');
    process.env.TEST_S3_KEY = 'AKIAIOSFODNN7EXAMPLE';
    try {
      const error = await poller()
        .scan()
        .then(
          () => null,
          (thrown: unknown) => thrown as RowmillError,
        );
      expect(error).toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
      expect(error!.message).not.toContain('AKIAIOSFODNN7EXAMPLE');
    } finally {
      process.env.TEST_S3_KEY = 'rowmill';
    }
  });

  it('of a store that does not respond end at the deadline', async () => {
    stub.fail('ListObjects', { kind: 'hang' }, 9);
    await expect(poller().scan()).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  });
});

async function startFront(to: S3Stub): Promise<Server> {
  const server = createServer((request, response) => {
    const url = new URL(request.url!, to.endpoint);
    const key = decodeURIComponent(url.pathname).slice(`/${to.bucket}/`.length);
    const answer = (status: number, body = ''): void => {
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(
        status < 300 ? body : `<Error><Code>PreconditionFailed</Code><Message>no</Message></Error>`,
      );
    };
    const copySource = request.headers['x-amz-copy-source'];
    if (request.method === 'PUT' && copySource !== undefined) {
      const from = to.objects.get(decodeURIComponent(String(copySource)).slice(to.bucket.length + 1));
      if (!from) return answer(404);
      if (request.headers['x-amz-copy-source-if-match'] !== from.etag) return answer(412);
      to.objects.set(key, { ...from });
      return answer(200, `<CopyObjectResult><ETag>${from.etag}</ETag></CopyObjectResult>`);
    }
    if (request.method === 'DELETE' && request.headers['if-match'] !== to.objects.get(key)?.etag)
      return answer(412);
    forward(request, response, url);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Lists have encoded keys, as in S3 with EncodingType. */
function forward(request: IncomingMessage, response: ServerResponse, url: URL): void {
  const encodes = url.searchParams.get('encoding-type') === 'url';
  const outgoing = httpRequest(url, { method: request.method, headers: request.headers }, (incoming) => {
    incoming.on('error', () => response.destroy());
    incoming.on('aborted', () => response.destroy());
    if (encodes && incoming.statusCode === 200) void answerEncoded(incoming, response);
    else incoming.pipe(response.writeHead(incoming.statusCode!, incoming.headers));
  });
  outgoing.on('error', () => response.destroy());
  request.pipe(outgoing);
}

async function answerEncoded(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const chunk of incoming.setEncoding('utf8')) body += chunk;
  const encode = (key: string): string =>
    encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/');
  response.writeHead(200, { 'content-type': 'application/xml' });
  response.end(
    body
      .replaceAll(/<Key>(.*?)<\/Key>/gs, (_, key: string) => `<Key>${encode(key)}</Key>`)
      .replace('<ListBucketResult>', '<ListBucketResult><EncodingType>url</EncodingType>'),
  );
}

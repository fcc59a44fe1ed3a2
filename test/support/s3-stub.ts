// A small S3 server for tests: path-style objects, ranges, listings and multipart uploads in memory, with switches for
// faults between a client and a store. It checks Content-MD5 and the access key, not signatures.
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Operation =
  | 'PutObject'
  | 'GetObject'
  | 'HeadObject'
  | 'DeleteObject'
  | 'ListObjects'
  | 'CreateUpload'
  | 'UploadPart'
  | 'UploadPartCopy'
  | 'CompleteUpload'
  | 'AbortUpload'
  | 'ListUploads';

export type Fault =
  | { kind: 'answer'; status: number; code: string }
  /** Never answers. */
  | { kind: 'hang' }
  /** Executes the request, and cuts the connection before the response. */
  | { kind: 'lose-answer' }
  /** The body of a response ends after this many bytes. */
  | { kind: 'cut'; afterBytes: number }
  /** The body of a response stops after this many bytes, with the connection open. */
  | { kind: 'stall'; afterBytes: number }
  /** Flips one bit of the body, in whichever direction it is sent. */
  | { kind: 'flip' }
  /** Flips one bit after the store has checked the received body. */
  | { kind: 'rot' }
  | { kind: 'trickle'; bytesPerSecond: number };

interface StoredObject {
  body: Buffer;
  etag: string;
  modifiedAt: Date;
  metadata: Record<string, string>;
}

interface Upload {
  key: string;
  startedAt: Date;
  metadata: Record<string, string>;
  parts: Map<number, { body: Buffer; md5: Buffer }>;
}

export interface S3Stub {
  endpoint: string;
  bucket: string;
  objects: Map<string, StoredObject>;
  uploads: Map<string, Upload>;
  /** Every received request. */
  requests: { operation: Operation; key: string }[];
  /** The most concurrent requests, per kind. */
  peaks: Map<Operation, number>;
  /** Number of open connections. */
  connections(): Promise<number>;
  /** Number of connections ever accepted. */
  accepted(): number;
  /** The next `times` requests of this kind fail. */
  fail(operation: Operation, fault: Fault, times?: number): void;
  /** Removes all faults, objects, uploads and requests. */
  reset(): void;
  stop(): Promise<void>;
}

export interface StubOptions {
  accessKey?: string;
  pageSize?: number;
  /** False: like encrypted objects and other stores, whose ETags are not MD5 sums. */
  etagsAreMd5?: boolean;
  encryption?: string;
}

class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

const MIN_PART_BYTES = 5 * 1024 * 1024;

export async function startS3Stub(options: StubOptions = {}): Promise<S3Stub> {
  const { accessKey = 'rowmill', pageSize = 1000, etagsAreMd5 = true, encryption } = options;
  const bucket = 'bucket';
  const objects: S3Stub['objects'] = new Map();
  const uploads: S3Stub['uploads'] = new Map();
  const requests: S3Stub['requests'] = [];
  const peaks: S3Stub['peaks'] = new Map();
  const underWay = new Map<Operation, number>();
  const faults: { operation: Operation; fault: Fault; left: number }[] = [];

  function takeFault(operation: Operation): Fault | undefined {
    const armed = faults.find((each) => each.operation === operation && each.left > 0);
    if (armed) armed.left -= 1;
    return armed?.fault;
  }

  function countUnderWay(operation: Operation, response: ServerResponse): void {
    const count = (underWay.get(operation) ?? 0) + 1;
    underWay.set(operation, count);
    peaks.set(operation, Math.max(count, peaks.get(operation) ?? 0));
    response.once('close', () => underWay.set(operation, underWay.get(operation)! - 1));
  }

  const etagOf = (md5: string): string => `"${etagsAreMd5 ? md5 : randomUUID().replaceAll('-', '')}"`;
  const encrypted = encryption ? { 'x-amz-server-side-encryption': encryption } : {};

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://stub');
    const [, bucketName, ...rest] = url.pathname.split('/').map(decodeURIComponent);
    const key = rest.join('/');
    const query = url.searchParams;
    const operation = operationOf(request, key, query);
    requests.push({ operation, key });
    countUnderWay(operation, response);
    const fault = takeFault(operation);
    if (fault?.kind === 'hang') return void request.resume();
    const body = flipIf(fault?.kind === 'flip', await readAll(request));
    if (fault?.kind === 'answer') throw new Refusal(fault.status, fault.code);
    if (!request.headers.authorization?.includes(`Credential=${accessKey}/`)) {
      throw new Refusal(403, 'InvalidAccessKeyId');
    }
    if (bucketName !== bucket) throw new Refusal(404, 'NoSuchBucket');
    const sent = request.headers['content-md5'];
    if (sent !== undefined && sent !== md5Of(body).toString('base64')) throw new Refusal(400, 'BadDigest');

    const stored = flipIf(fault?.kind === 'rot', body);
    const answer = answers[operation]({ request, key, query, body: stored });
    if (fault?.kind === 'lose-answer') return void request.socket.destroy();
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/xml', ...answer.headers });
    await sendBody(response, answer.body ?? Buffer.alloc(0), fault);
  }

  interface Asked {
    request: IncomingMessage;
    key: string;
    query: URLSearchParams;
    body: Buffer;
  }
  type Answer = { status?: number; headers?: Record<string, string | number>; body?: Buffer };

  const answers: Record<Operation, (asked: Asked) => Answer> = {
    PutObject({ request, key, body }) {
      const etag = etagOf(md5Of(body).toString('hex'));
      objects.set(key, { body, etag, modifiedAt: new Date(), metadata: metadataOf(request) });
      return { headers: { etag, ...encrypted } };
    },
    HeadObject({ key }) {
      return { headers: objectHeaders(objectAt(key)), body: Buffer.alloc(0) };
    },
    GetObject({ request, key }) {
      const object = objectAt(key);
      const { 'if-match': wanted, range } = request.headers;
      if (wanted !== undefined && wanted !== object.etag) throw new Refusal(412, 'PreconditionFailed');
      if (range === undefined) return { headers: objectHeaders(object), body: object.body };
      const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(range)!;
      const start = Number(first);
      if (start >= object.body.length) throw new Refusal(416, 'InvalidRange');
      const body = object.body.subarray(start, last === '' ? undefined : Number(last) + 1);
      const contentRange = `bytes ${start}-${start + body.length - 1}/${object.body.length}`;
      return {
        status: 206,
        headers: { ...objectHeaders(object), 'content-length': body.length, 'content-range': contentRange },
        body,
      };
    },
    DeleteObject({ key }) {
      objects.delete(key);
      return { status: 204 };
    },
    ListObjects({ query }) {
      const prefix = query.get('prefix') ?? '';
      const after = query.get('continuation-token') ?? '';
      const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
      const page = keys.slice(0, pageSize);
      const contents = page.map((key) => {
        const { body, etag, modifiedAt } = objects.get(key)!;
        return `<Contents><Key>${key}</Key><Size>${body.length}</Size><ETag>${etag}</ETag><LastModified>${modifiedAt.toISOString()}</LastModified></Contents>`;
      });
      const next = keys.length > page.length ? page.at(-1)! : undefined;
      return xml(
        `<ListBucketResult><IsTruncated>${next !== undefined}</IsTruncated>${
          next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`
        }${contents.join('')}</ListBucketResult>`,
      );
    },
    CreateUpload({ request, key }) {
      const id = randomUUID();
      uploads.set(id, { key, startedAt: new Date(), metadata: metadataOf(request), parts: new Map() });
      return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    },
    UploadPart({ query, body }) {
      const md5 = md5Of(body);
      uploadAt(query).parts.set(Number(query.get('partNumber')), { body, md5 });
      return { headers: { etag: `"${md5.toString('hex')}"`, ...encrypted } };
    },
    UploadPartCopy({ request, query }) {
      const source = decodeURIComponent(String(request.headers['x-amz-copy-source'])).replace(/^\//, '');
      const object = objectAt(source.slice(bucket.length + 1));
      const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(String(request.headers['x-amz-copy-source-range']))!;
      const body = object.body.subarray(Number(first), Number(last) + 1);
      const md5 = md5Of(body);
      uploadAt(query).parts.set(Number(query.get('partNumber')), { body, md5 });
      return xml(`<CopyPartResult><ETag>"${md5.toString('hex')}"</ETag></CopyPartResult>`);
    },
    CompleteUpload({ key, query, body }) {
      const { parts, metadata } = uploadAt(query);
      const listed = [...body.toString().matchAll(/<Part>.*?<\/Part>/gs)].map(([part]) => ({
        number: Number(/<PartNumber>(\d+)</.exec(part)![1]),
        etag: /<ETag>(?:"|&quot;)?([0-9a-f]+)/.exec(part)![1],
      }));
      const found = listed.map(({ number, etag }, index) => {
        const part = parts.get(number);
        if (part?.md5.toString('hex') !== etag) throw new Refusal(400, 'InvalidPart');
        if (index > 0 && number <= listed[index - 1]!.number) throw new Refusal(400, 'InvalidPartOrder');
        if (index < listed.length - 1 && part!.body.length < MIN_PART_BYTES) {
          throw new Refusal(400, 'EntityTooSmall');
        }
        return part!;
      });
      const md5 = md5Of(Buffer.concat(found.map((part) => part.md5))).toString('hex');
      const etag = etagOf(`${md5}-${found.length}`);
      const whole = Buffer.concat(found.map((part) => part.body));
      objects.set(key, { body: whole, etag, modifiedAt: new Date(), metadata });
      uploads.delete(query.get('uploadId')!);
      return {
        ...xml(`<CompleteMultipartUploadResult><ETag>${etag}</ETag></CompleteMultipartUploadResult>`),
        headers: encrypted,
      };
    },
    AbortUpload({ query }) {
      uploadAt(query);
      uploads.delete(query.get('uploadId')!);
      return { status: 204 };
    },
    ListUploads({ query }) {
      const prefix = query.get('prefix') ?? '';
      const after = `${query.get('key-marker') ?? ''}\n${query.get('upload-id-marker') ?? ''}`;
      const found = [...uploads]
        .map(([id, { key, startedAt }]) => ({ id, key, startedAt, place: `${key}\n${id}` }))
        .filter(({ key, place }) => key.startsWith(prefix) && place > after)
        .sort((a, b) => (a.place < b.place ? -1 : 1));
      const page = found.slice(0, pageSize);
      const last = page.at(-1);
      const entries = page.map(
        ({ id, key, startedAt }) =>
          `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${startedAt.toISOString()}</Initiated></Upload>`,
      );
      const truncated = found.length > page.length;
      return xml(
        `<ListMultipartUploadsResult><IsTruncated>${truncated}</IsTruncated>${
          truncated
            ? `<NextKeyMarker>${last!.key}</NextKeyMarker><NextUploadIdMarker>${last!.id}</NextUploadIdMarker>`
            : ''
        }${entries.join('')}</ListMultipartUploadsResult>`,
      );
    },
  };

  function objectAt(key: string): StoredObject {
    const object = objects.get(key);
    if (!object) throw new Refusal(404, 'NoSuchKey');
    return object;
  }

  function objectHeaders({
    body,
    etag,
    modifiedAt,
    metadata,
  }: StoredObject): Record<string, string | number> {
    return {
      'content-length': body.length,
      etag,
      'last-modified': modifiedAt.toUTCString(),
      ...encrypted,
      ...Object.fromEntries(Object.entries(metadata).map(([name, value]) => [`x-amz-meta-${name}`, value])),
    };
  }

  function uploadAt(query: URLSearchParams): Upload {
    const upload = uploads.get(query.get('uploadId')!);
    if (!upload) throw new Refusal(404, 'NoSuchUpload');
    return upload;
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      const { status, code } = error instanceof Refusal ? error : new Refusal(500, `StubFailed: ${error}`);
      response.writeHead(status, { 'content-type': 'application/xml' });
      response.end(
        request.method === 'HEAD'
          ? undefined
          : `<Error><Code>${code}</Code><Message>${code}</Message></Error>`,
      );
    });
  });
  let accepted = 0;
  server.on('connection', () => {
    accepted += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket,
    objects,
    uploads,
    requests,
    peaks,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
    accepted: () => accepted,
    fail: (operation, fault, times = 1) => void faults.push({ operation, fault, left: times }),
    reset() {
      for (const each of [objects, uploads, peaks]) each.clear();
      for (const each of [requests, faults]) each.length = 0;
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function operationOf({ method, headers }: IncomingMessage, key: string, query: URLSearchParams): Operation {
  if (method === 'GET' && key === '') return query.has('uploads') ? 'ListUploads' : 'ListObjects';
  if (method === 'POST') return query.has('uploads') ? 'CreateUpload' : 'CompleteUpload';
  if (method === 'PUT' && query.has('uploadId')) {
    return headers['x-amz-copy-source'] === undefined ? 'UploadPart' : 'UploadPartCopy';
  }
  if (method === 'DELETE' && query.has('uploadId')) return 'AbortUpload';
  if (method === 'DELETE') return 'DeleteObject';
  if (method === 'PUT') return 'PutObject';
  return method === 'HEAD' ? 'HeadObject' : 'GetObject';
}

function xml(text: string): { body: Buffer } {
  return { body: Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>${text}`) };
}

function metadataOf({ headers }: IncomingMessage): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => name.startsWith('x-amz-meta-'));
  return Object.fromEntries(own.map(([name, value]) => [name.slice('x-amz-meta-'.length), String(value)]));
}

function md5Of(body: Buffer): Buffer {
  return createHash('md5').update(body).digest();
}

function flipIf(flip: boolean, body: Buffer): Buffer {
  if (!flip || body.length === 0) return body;
  const flipped = Buffer.from(body);
  const middle = flipped.length >> 1;
  flipped[middle] = flipped[middle]! ^ 1;
  return flipped;
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function sendBody(response: ServerResponse, body: Buffer, fault: Fault | undefined): Promise<void> {
  switch (fault?.kind) {
    case 'cut':
      response.write(body.subarray(0, fault.afterBytes), () => response.destroy());
      return;
    case 'stall':
      response.write(body.subarray(0, fault.afterBytes));
      return;
    case 'trickle': {
      const step = Math.max(1, Math.floor(fault.bytesPerSecond / 20));
      for (let at = 0; at < body.length && !response.destroyed; at += step) {
        response.write(body.subarray(at, at + step));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      response.end();
      return;
    }
    default:
      response.end(flipIf(fault?.kind === 'flip', body));
  }
}

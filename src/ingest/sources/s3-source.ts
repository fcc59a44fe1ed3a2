// Objects that appear below a prefix of an S3 bucket, or of a store with the same protocol. An object is complete
// when it is visible, so there is no wait for it to stop changing. Its ETag identifies it, and every later request
// checks it. Objects stay in place and the claim rows track them, unless the settings name prefixes to move them to.
import type { S3 } from '@aws-sdk/client-s3';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { toS3Failure } from '../../platform/blob-store/s3-failure.ts';
import { secretFromEnvironment } from '../../platform/environment.ts';
import { derivedId } from '../../platform/random.ts';
import { withDeadline, withDeadlines } from './deadline.ts';
import { createFileNameFilter } from './file-name-filter.ts';
import type {
  OpenedSourceFile,
  Settlement,
  SourceAdapter,
  SourceFile,
  SourceLook,
} from './source-adapter.ts';
import type { S3SourceConfig } from './source-config.ts';

/** Limit of a single copy request. */
const MAX_COPY_BYTES = 5 * 1024 ** 3;

interface S3File extends SourceFile {
  etag: string;
}

export class S3Source implements SourceAdapter {
  readonly description: string;
  readonly #config: S3SourceConfig;
  readonly #deadlineMs: number;
  readonly #takeable: (name: string) => boolean;
  /** ETags by file id: requests need the ETag, and the file id does not contain it. */
  #etags = new Map<string, string>();
  #client: S3 | null = null;

  constructor(config: S3SourceConfig, deadlineMs: number) {
    this.description = `s3://${config.bucket}/${config.prefix}`;
    this.#config = config;
    this.#deadlineMs = deadlineMs;
    this.#takeable = createFileNameFilter(config.include);
  }

  async look(signal: AbortSignal): Promise<SourceLook> {
    try {
      const files = await this.#listObjects(signal);
      this.#etags = new Map(files.map((file) => [file.fileId, file.etag]));
      files.sort((a, b) => a.modifiedMs - b.modifiedMs || (a.path < b.path ? -1 : 1));
      return { offered: files, held: [], waiting: [], refused: [] };
    } catch (cause) {
      if (cause instanceof RowmillError || signal.aborted) throw cause;
      throw new RowmillError(
        'SOURCE_UNAVAILABLE',
        `cannot list ${this.description}: ${(cause as Error).message}`,
        {
          cause,
        },
      );
    }
  }

  /** Moves nothing; checks that the object is still the one that was listed. */
  async hold(file: SourceFile): Promise<boolean> {
    try {
      const head = await this.#send('HeadObject', (s3, options) =>
        s3.headObject({ Bucket: this.#config.bucket, Key: this.#keyOf(file) }, options),
      );
      return head.ETag === this.#etags.get(file.fileId);
    } catch (error) {
      if (statusOf(error) === 404) return false;
      throw error;
    }
  }

  async open(file: SourceFile, signal: AbortSignal): Promise<OpenedSourceFile> {
    const s3 = await this.#connected();
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    signal.addEventListener('abort', abort, { once: true });
    const close = async (): Promise<void> => {
      signal.removeEventListener('abort', abort);
      stop.abort();
    };
    try {
      const request = s3.getObject(
        { Bucket: this.#config.bucket, Key: this.#keyOf(file), IfMatch: this.#etags.get(file.fileId) },
        { abortSignal: stop.signal },
      );
      const answer = await withDeadline(`GetObject on ${this.description}`, this.#deadlineMs, request, abort);
      const body = answer.Body as unknown as NodeJS.ReadableStream & { destroy(): void };
      // The body may still fail after it is no longer read.
      body.on('error', () => {});
      const late = (): void => body.destroy();
      return {
        bytes: withDeadlines(
          `reading from ${this.description}`,
          this.#deadlineMs,
          body as AsyncIterable<Buffer>,
          late,
        ),
        // The response is one version of the object, even if the object is replaced meanwhile.
        unchanged: async () => true,
        async close() {
          body.destroy();
          await close();
        },
      };
    } catch (error) {
      await close();
      const failure = toS3Failure(error);
      if (failure.status === 412 || failure.status === 404)
        throw new Error('it was replaced or removed after it was listed');
      throw failure;
    }
  }

  async settle(file: SourceFile, settlement: Settlement): Promise<void> {
    const target = this.#config.move?.[settlement.state];
    const etag = this.#etags.get(file.fileId);
    if (target === undefined || etag === undefined || file.bytes > MAX_COPY_BYTES) return;
    // A unique name, because the same key may come again with other content.
    const targetKey = `${target}${file.path.slice(0, -file.name.length)}${file.fileId}-${file.name}`;
    try {
      await this.#send('CopyObject', (s3, options) =>
        s3.copyObject(
          {
            Bucket: this.#config.bucket,
            Key: targetKey,
            CopySource: `${this.#config.bucket}/${this.#keyOf(file)}`
              .split('/')
              .map(encodeURIComponent)
              .join('/'),
            CopySourceIfMatch: etag,
          },
          options,
        ),
      );
    } catch (error) {
      // Replaced or moved already: an object that is there now is a new one, with its own turn.
      if (statusOf(error) === 404 || statusOf(error) === 412) return;
      throw error;
    }
    if (settlement.state === 'failed') {
      await this.#send('PutObject', (s3, options) =>
        s3.putObject(
          {
            Bucket: this.#config.bucket,
            Key: `${targetKey}.reason.txt`,
            Body: `${settlement.reason}\n`,
            ContentType: 'text/plain; charset=utf-8',
          },
          options,
        ),
      );
    }
    await this.#deleteUnlessReplaced(file, etag);
  }

  async giveBack(): Promise<void> {}

  async disconnect(): Promise<void> {
    this.#client?.destroy();
    this.#client = null;
  }

  #keyOf(file: SourceFile): string {
    return `${this.#config.prefix}${file.path}`;
  }

  async #connected(): Promise<S3> {
    this.#client ??= await createClient(this.#config);
    return this.#client;
  }

  async #send<T>(request: string, work: (s3: S3, options: { abortSignal: AbortSignal }) => Promise<T>) {
    const s3 = await this.#connected();
    const late = new AbortController();
    return withDeadline(
      `${request} on ${this.description}`,
      this.#deadlineMs,
      work(s3, { abortSignal: late.signal }),
      () => late.abort(),
    ).catch((error: unknown) => {
      throw toS3Failure(error);
    });
  }

  async #listObjects(signal: AbortSignal): Promise<S3File[]> {
    const files: S3File[] = [];
    let after: string | undefined;
    do {
      signal.throwIfAborted();
      const page = await this.#send('ListObjectsV2', (s3, options) =>
        s3.listObjectsV2(
          {
            Bucket: this.#config.bucket,
            Prefix: this.#config.prefix,
            // A key may contain characters that XML cannot: one such key would make the whole list unreadable.
            EncodingType: 'url',
            ...(after !== undefined && { ContinuationToken: after }),
          },
          options,
        ),
      );
      const decode = page.EncodingType === 'url' ? decodeKey : (key: string): string => key;
      for (const { Key: listed, ETag: etag, Size: bytes = 0, LastModified: modified } of page.Contents ??
        []) {
        const key = listed === undefined ? undefined : decode(listed);
        const name = key?.slice(key.lastIndexOf('/') + 1);
        // A key that ends with a slash is a folder.
        if (key === undefined || etag === undefined || !name || !this.#takeable(name)) continue;
        files.push({
          fileId: derivedId('s3', this.#config.bucket, key, etag),
          path: key.slice(this.#config.prefix.length),
          name,
          bytes,
          modifiedMs: modified?.getTime() ?? 0,
          etag,
        });
      }
      after = page.NextContinuationToken;
    } while (after !== undefined);
    return files;
  }

  async #deleteUnlessReplaced(file: SourceFile, etag: string): Promise<void> {
    if (!(await this.hold(file))) return;
    const remove = (condition: { IfMatch?: string }) =>
      this.#send('DeleteObject', (s3, options) =>
        s3.deleteObject({ Bucket: this.#config.bucket, Key: this.#keyOf(file), ...condition }, options),
      );
    try {
      await remove({ IfMatch: etag });
    } catch (error) {
      if (statusOf(error) === 412 || statusOf(error) === 404) return;
      // Not every store supports conditional deletes; there the check just before has to suffice.
      if (statusOf(error) !== 501) throw error;
      await remove({});
    }
  }
}

function decodeKey(encoded: string): string {
  return decodeURIComponent(encoded.replaceAll('+', ' '));
}

function statusOf(error: unknown): number | undefined {
  return (error as { status?: number }).status;
}

async function createClient(config: S3SourceConfig): Promise<S3> {
  const { endpoint, region, pathStyle } = config;
  const sdk = await import('@aws-sdk/client-s3').catch((cause: unknown) => {
    throw new RowmillError('SOURCE_INVALID', 'the package @aws-sdk/client-s3 is not installed', {
      hint: 'npm install @aws-sdk/client-s3',
      cause,
    });
  });
  return new sdk.S3({
    maxAttempts: 3,
    // Stores other than AWS refuse the SDK's own checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...credentials(config),
    ...(endpoint === undefined
      ? { ...(region !== undefined && { region }), forcePathStyle: pathStyle ?? false }
      : { endpoint, region: region ?? 'us-east-1', forcePathStyle: pathStyle ?? true }),
  });
}

/** The source's own credentials, or those that the SDK finds in the environment of the process. */
function credentials({ accessKeyIdEnv, secretAccessKeyEnv }: S3SourceConfig) {
  if (accessKeyIdEnv === undefined || secretAccessKeyEnv === undefined) return {};
  const accessKeyId = secretFromEnvironment(accessKeyIdEnv);
  const secretAccessKey = secretFromEnvironment(secretAccessKeyEnv);
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const missing = accessKeyId === undefined ? accessKeyIdEnv : secretAccessKeyEnv;
    throw new RowmillError('SOURCE_INVALID', `expected the environment variable ${missing} to be set`);
  }
  return { credentials: { accessKeyId, secretAccessKey } };
}

// The connection of an S3 store: loads the SDK at first use and gives every request a deadline, bounded retries with
// jitter, and Rowmill's errors. This is the only retry layer: the SDK's retries are disabled.
import type { S3 } from '@aws-sdk/client-s3';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { backoffMs } from '../../core/retries/backoff.ts';
import { waitMs } from '../clock.ts';
import { randomFraction } from '../random.ts';
import { S3Failure, toS3Failure } from './s3-failure.ts';
import type { S3Location } from './s3-location.ts';

export interface S3Options {
  /** Deadline of one request, and of each step of progress of a download. */
  deadlineMs?: number;
  attempts?: number;
  /** The first wait between two attempts. It doubles each time. */
  retryBaseMs?: number;
}

interface S3CallOptions {
  signal?: AbortSignal | undefined;
  attempts?: number;
  /** Extends the deadline of requests that take longer. */
  deadlineFactor?: number;
}

type Send<T> = (s3: S3, options: { abortSignal: AbortSignal }) => Promise<T>;

const RETRY_CAP_MS = 5000;

export class S3Session {
  readonly description: string;
  readonly location: S3Location;
  readonly deadlineMs: number;
  readonly attempts: number;
  readonly #retryBaseMs: number;
  #connecting: Promise<S3> | undefined;
  #closed = false;

  constructor(location: S3Location, options: S3Options = {}) {
    const { deadlineMs = 30_000, attempts = 4, retryBaseMs = 200 } = options;
    this.description = `s3://${location.bucket}/${location.prefix}`;
    this.location = location;
    this.deadlineMs = deadlineMs;
    this.attempts = attempts;
    this.#retryBaseMs = retryBaseMs;
  }

  /** Throws BLOB_STORE_UNAVAILABLE, with the failed request as its cause, when all attempts failed. */
  async call<T>(request: string, send: Send<T>, options: S3CallOptions = {}): Promise<T> {
    const { signal, attempts: limit = this.attempts, deadlineFactor = 1 } = options;
    const s3 = await this.#connect();
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      try {
        return await sendWithDeadline(s3, send, this.deadlineMs * deadlineFactor, signal);
      } catch (error) {
        signal?.throwIfAborted();
        this.#checkOpen();
        const failure = toS3Failure(error);
        if (!failure.passing || attempt >= limit) throw this.#givenUp(request, failure, attempt);
      }
      await this.backOff(attempt, signal);
    }
  }

  /** Waits before the next attempt. */
  backOff(attempt: number, signal?: AbortSignal): Promise<void> {
    const retry = { firstMs: this.#retryBaseMs, capMs: RETRY_CAP_MS };
    return waitMs(backoffMs(retry, attempt, randomFraction()), signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    (await this.#connecting?.catch(() => undefined))?.destroy();
  }

  #checkOpen(): void {
    if (this.#closed) throw new Error(`the blob store ${this.description} is closed`);
  }

  async #connect(): Promise<S3> {
    this.#checkOpen();
    this.#connecting ??= createClient(this.location);
    return this.#connecting.catch((error: unknown) => {
      this.#connecting = undefined;
      throw error;
    });
  }

  #givenUp(request: string, failure: S3Failure, attempt: number): RowmillError {
    const answer = [failure.status, `${failure.code}:`, failure.message].filter(Boolean).join(' ');
    const tries = attempt === 1 ? '' : ` after ${attempt} attempts`;
    const hint = hintFor(failure);
    return new RowmillError(
      /region is missing/i.test(failure.message) ? 'BLOB_STORE_INVALID' : 'BLOB_STORE_UNAVAILABLE',
      `expected ${this.description} to answer ${request}, got ${answer}${tries}`,
      { cause: failure, ...(hint === undefined ? {} : { hint }) },
    );
  }
}

async function createClient({ endpoint, region, pathStyle }: S3Location): Promise<S3> {
  const sdk = await import('@aws-sdk/client-s3').catch((error: unknown) => {
    if (!String((error as { code?: string }).code).endsWith('MODULE_NOT_FOUND')) throw error;
    throw new RowmillError(
      'BLOB_STORE_INVALID',
      'expected the package @aws-sdk/client-s3 to be installed for a blob store on s3://, got none',
      { hint: 'npm install @aws-sdk/client-s3', cause: error },
    );
  });
  return new sdk.S3({
    maxAttempts: 1,
    // Rowmill sends Content-MD5, which every store supports. Some stores refuse the SDK's own checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // It would cost an extra connection for every part.
    expectContinueHeader: false,
    ...(endpoint === undefined
      ? { ...(region === undefined ? {} : { region }), forcePathStyle: pathStyle ?? false }
      : { endpoint, region: region ?? 'us-east-1', forcePathStyle: pathStyle ?? true }),
  });
}

/** Past the deadline the request is aborted, which destroys its socket, and is not awaited. */
function sendWithDeadline<T>(s3: S3, send: Send<T>, deadlineMs: number, signal?: AbortSignal): Promise<T> {
  const controller = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const fail = (error: unknown): void => {
      reject(error);
      controller.abort();
    };
    const timer = setTimeout(
      () =>
        fail(
          new S3Failure('TimeoutError', `no answer within the deadline of ${deadlineMs} ms`, {
            passing: true,
          }),
        ),
      deadlineMs,
    );
    const abort = (): void => fail(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    send(s3, { abortSignal: controller.signal })
      .then(resolve, reject)
      .finally(() => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
      });
  });
}

function hintFor({ code, status, message }: S3Failure): string | undefined {
  if (/region is missing/i.test(message)) return 'Add ?region=… to the setting blobStore, or set AWS_REGION.';
  if (code === 'CredentialsProviderError')
    return 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or assign a role to the machine.';
  if (code === 'NoSuchBucket') return 'Create the bucket, or correct the setting blobStore.';
  if (status === 403)
    return 'Check the credentials, and that the policy allows the actions listed in docs/blob-store.md.';
  if (status === 301 || status === 307) return 'Add ?region=… to blobStore: the bucket is in another region.';
  return undefined;
}

// The connection of an S3 store: loads the SDK at first use and gives every request a deadline, bounded retries with
// jitter and Rowmill's own errors. This is the only retry layer: the SDK's is switched off. Which requests make a store
// is not decided here.
import type { S3 } from '@aws-sdk/client-s3';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { backoffMs } from '../../core/retries/backoff.ts';
import { waitMs } from '../clock.ts';
import { randomFraction } from '../random.ts';
import { S3Failure, toS3Failure } from './s3-failure.ts';
import type { S3Location } from './s3-location.ts';

export interface S3Options {
  /** For one request, and for the time in which a download must bring something. */
  deadlineMs?: number;
  attempts?: number;
  /** The first wait between two attempts; doubles each time. */
  retryBaseMs?: number;
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  attempts?: number;
  /** For requests that may take longer than others. */
  deadlineFactor?: number;
}

type Send<T> = (s3: S3, options: { abortSignal: AbortSignal }) => Promise<T>;

export interface S3Session {
  readonly description: string;
  readonly location: S3Location;
  readonly deadlineMs: number;
  readonly attempts: number;
  /** BLOB_STORE_UNAVAILABLE with the failed request as its cause when it was given up. */
  call<T>(request: string, send: Send<T>, options?: CallOptions): Promise<T>;
  /** The wait before the next attempt. */
  backOff(attempt: number, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

const RETRY_CAP_MS = 5000;

export function openS3Session(location: S3Location, options: S3Options = {}): S3Session {
  const { deadlineMs = 30_000, attempts = 4, retryBaseMs = 200 } = options;
  const description = `s3://${location.bucket}/${location.prefix}`;
  let connecting: Promise<S3> | undefined;
  let closed = false;

  function checkOpen(): void {
    if (closed) throw new Error(`the blob store ${description} is closed`);
  }

  async function connect(): Promise<S3> {
    checkOpen();
    connecting ??= createClient(location);
    return connecting.catch((error: unknown) => {
      connecting = undefined;
      throw error;
    });
  }

  function backOff(attempt: number, signal?: AbortSignal): Promise<void> {
    return waitMs(
      backoffMs({ firstMs: retryBaseMs, capMs: RETRY_CAP_MS }, attempt, randomFraction()),
      signal,
    );
  }

  async function call<T>(request: string, send: Send<T>, callOptions: CallOptions = {}): Promise<T> {
    const { signal, attempts: limit = attempts, deadlineFactor = 1 } = callOptions;
    const s3 = await connect();
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      try {
        return await sendWithDeadline(s3, send, deadlineMs * deadlineFactor, signal);
      } catch (error) {
        signal?.throwIfAborted();
        checkOpen();
        const failure = toS3Failure(error);
        if (!failure.passing || attempt >= limit) throw givenUp(request, failure, attempt);
      }
      await backOff(attempt, signal);
    }
  }

  function givenUp(request: string, failure: S3Failure, attempt: number): RowmillError {
    const answer = [failure.status, `${failure.code}:`, failure.message].filter(Boolean).join(' ');
    const tries = attempt === 1 ? '' : ` after ${attempt} attempts`;
    const hint = hintFor(failure);
    return new RowmillError(
      /region is missing/i.test(failure.message) ? 'BLOB_STORE_INVALID' : 'BLOB_STORE_UNAVAILABLE',
      `expected ${description} to answer ${request}, got ${answer}${tries}`,
      { cause: failure, ...(hint === undefined ? {} : { hint }) },
    );
  }

  return {
    description,
    location,
    deadlineMs,
    attempts,
    call,
    backOff,
    async close() {
      closed = true;
      (await connecting?.catch(() => undefined))?.destroy();
    },
  };
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
    // Rowmill sends Content-MD5, which every store knows; the SDK's own checksums are refused by some.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // It would cost a connection of its own for every part.
    expectContinueHeader: false,
    ...(endpoint === undefined
      ? { ...(region === undefined ? {} : { region }), forcePathStyle: pathStyle ?? false }
      : { endpoint, region: region ?? 'us-east-1', forcePathStyle: pathStyle ?? true }),
  });
}

/** Past the deadline the request is aborted, which destroys its socket, and is not waited for. */
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
    return 'Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role.';
  if (code === 'NoSuchBucket') return 'Create the bucket, or correct the setting blobStore.';
  if (status === 403)
    return 'Check the credentials and that the policy allows what docs/blob-store.md lists.';
  if (status === 301 || status === 307) return 'The bucket is in another region: add ?region=… to blobStore.';
  return undefined;
}

// A failed S3 request, whatever the SDK threw: status, code and whether a retry can help. Only safe parts of the
// SDK's error are copied, because it contains the signed request.

export class S3Failure extends Error {
  readonly status: number | undefined;
  readonly code: string;
  readonly passing: boolean;

  constructor(code: string, message: string, options: { status?: number | undefined; passing: boolean }) {
    super(message);
    this.name = 'S3Failure';
    this.code = code;
    this.status = options.status;
    this.passing = options.passing;
  }
}

const PASSING_NETWORK_CODES = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ERR_STREAM_PREMATURE_CLOSE',
]);
// The request was damaged or arrived late: a retry can succeed.
const PASSING_ANSWERS = new Set([
  'BadDigest',
  'IncompleteBody',
  'OperationAborted',
  'RequestTimeout',
  'RequestTimeTooSkewed',
  'SlowDown',
  'ThrottlingException',
  'XAmzContentSHA256Mismatch',
]);
const MAX_MESSAGE_LENGTH = 300;

interface SdkError {
  name?: unknown;
  code?: unknown;
  message?: unknown;
  $metadata?: { httpStatusCode?: number };
}

export function toS3Failure(thrown: unknown): S3Failure {
  if (thrown instanceof S3Failure) return thrown;
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as SdkError;
  const status = error.$metadata?.httpStatusCode;
  const name = typeof error.name === 'string' && error.name !== 'Error' ? error.name : undefined;
  const networkCode = typeof error.code === 'string' ? error.code : undefined;
  const code = (status === undefined ? networkCode : undefined) ?? name ?? networkCode ?? 'Error';
  return new S3Failure(code, safeMessage(error.message), { status, passing: isPassing(status, code) });
}

/** The failed request that caused an error of this store. */
export function s3FailureOf(error: unknown): S3Failure | undefined {
  return error instanceof Error && error.cause instanceof S3Failure ? error.cause : undefined;
}

function isPassing(status: number | undefined, code: string): boolean {
  if (PASSING_ANSWERS.has(code)) return true;
  if (status === undefined)
    return PASSING_NETWORK_CODES.has(code) || code.startsWith('HPE_') || code === 'TimeoutError';
  // A success that could not be parsed was truncated in transit.
  return status < 300 || status === 408 || status === 429 || (status >= 500 && status !== 501);
}

function safeMessage(message: unknown): string {
  return String(message ?? '')
    .split('\n')[0]!
    .slice(0, MAX_MESSAGE_LENGTH)
    .replace(/\b(AKIA|ASIA)[A-Z0-9]{12,}/g, '$1…')
    .replace(/\b(x-amz-(?:signature|credential|security-token)=)[^&\s]+/gi, '$1…');
}

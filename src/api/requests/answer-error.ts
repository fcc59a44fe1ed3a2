// Every refusal has one shape: code, message, hint, request id. What is not ours to tell goes to the log instead.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ErrorAnswer } from '../../contract/route.ts';
import { issueWords } from '../../core/items/issue-words.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { databaseErrorKind } from '../../platform/database-error.ts';
import type { Logger } from '../../platform/logger.ts';
import { refusalBody } from './refusal-body.ts';

/** A refusal that says when to come back. */
export class RetryLaterError extends RowmillError {
  constructor(code: ConstructorParameters<typeof RowmillError>[0], message: string, retryAfterMs: number) {
    super(code, message, { retryAfterMs });
  }
}

/** The client closed its connection: the reason of the signal that handlers get. */
export class ClientGoneError extends Error {
  constructor(cause?: unknown) {
    super('the client is gone', cause === undefined ? undefined : { cause });
  }
}

/** Errors of streams whose other end is gone. */
const ABORT_CODES = [
  'ECONNRESET',
  'EPIPE',
  'ABORT_ERR',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
];

/** The value is not what the route expects; says where. */
export class InvalidRequestError extends RowmillError {
  readonly issues: { path: string; message: string }[];
  constructor(where: 'params' | 'query' | 'body', error: z.ZodError, given: unknown) {
    const issues = error.issues.slice(0, 20).map((issue) => ({
      path: [where, ...issue.path.map(String)].join('.'),
      // A request may hold a password.
      message: issueWords(issue, given, { showsValue: false }),
    }));
    const first = issues[0];
    super('REQUEST_INVALID', first ? `${first.path}: ${first.message}` : `the ${where} is not as expected`);
    this.issues = issues;
  }
}

export function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Logger,
): FastifyReply {
  const { refusal, body } = errorAnswerOf(error, request);
  const { id: requestId, method, routeOptions } = request;
  const detail = { requestId, method, route: routeOptions.url };
  if (isAbort(error, request)) log.debug(detail, 'request aborted by the client');
  else if (refusal.status >= 500) log.error({ ...detail, error: describe(error) }, 'a request failed');
  if (refusal.retryAfterMs !== null)
    void reply.header('retry-after', Math.max(1, Math.ceil(refusal.retryAfterMs / 1000)));
  if (refusal.status === 401) void reply.header('www-authenticate', challengeOf(request));
  // A download that fails before its first byte.
  for (const name of ['content-length', 'content-disposition', 'content-encoding', 'etag', 'last-modified'])
    void reply.removeHeader(name);
  return reply.code(refusal.status).type(mediaTypeFor(request)).send(body);
}

/** Programs that ask for RFC 9457 get its media type. */
function mediaTypeFor({ headers }: FastifyRequest): string {
  const isAsked = /\bapplication\/problem\+json\b/i.test(headers.accept ?? '');
  return `application/${isAsked ? 'problem+json' : 'json'}; charset=utf-8`;
}

/** RFC 6750: a key that was sent and is not right is an invalid token. */
function challengeOf({ headers }: FastifyRequest): string {
  return `Bearer realm="rowmill"${headers.authorization === undefined ? '' : ', error="invalid_token"'}`;
}

/** The body of a refusal. */
export function errorAnswerOf(
  error: unknown,
  request: FastifyRequest,
): { refusal: RowmillError; body: ErrorAnswer } {
  const refusal = toRefusal(error, request);
  const issues = refusal instanceof InvalidRequestError ? refusal.issues : undefined;
  return { refusal, body: refusalBody(refusal, request.id, issues) };
}

/** Other errors of a request whose client is gone are still errors of ours. */
function isAbort(error: unknown, { raw }: FastifyRequest): boolean {
  if (!raw.socket.destroyed) return false;
  return (
    error instanceof ClientGoneError ||
    ABORT_CODES.includes(String((error as { code?: unknown } | null)?.code))
  );
}

function toRefusal(error: unknown, request: FastifyRequest): RowmillError {
  if (error instanceof RowmillError) return error;
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  if (typeof code === 'string' && code.startsWith('FST_'))
    return ofFastify(code, statusCode, error as Error, request);
  if (databaseErrorKind(error) === 'passing')
    return new RowmillError('DATABASE_UNREACHABLE', 'the database did not answer');
  return new RowmillError('INTERNAL_ERROR', 'something went wrong');
}

function ofFastify(code: string, status: unknown, error: Error, request: FastifyRequest): RowmillError {
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const { routeOptions } = request;
    const { bodyLimitName } = routeOptions.config as { bodyLimitName?: string };
    return new RowmillError(
      'BODY_TOO_LARGE',
      `expected the body to have at most ${routeOptions.bodyLimit} bytes (${bodyLimitName})`,
    );
  }
  if (status === 415) return new RowmillError('MEDIA_TYPE_UNSUPPORTED', error.message);
  if (status === 413) return new RowmillError('BODY_TOO_LARGE', `the body is over a limit: ${error.message}`);
  if (typeof status === 'number' && status < 500) return new RowmillError('REQUEST_INVALID', error.message);
  return new RowmillError('INTERNAL_ERROR', code);
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

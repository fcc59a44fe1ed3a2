// Every error response has the same shape: code, message, hint, docs, request id. Details that callers must not see are
// logged instead.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ErrorAnswer } from '../../contract/route.ts';
import { issueWords } from '../../core/items/issue-words.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { databaseErrorKind } from '../../platform/database-error.ts';
import type { Logger } from '../../platform/logger.ts';
import { refusalBody } from './refusal-body.ts';

/** An error with a Retry-After. */
export class RetryLaterError extends RowmillError {
  constructor(code: ConstructorParameters<typeof RowmillError>[0], message: string, retryAfterMs: number) {
    super(code, message, { retryAfterMs });
  }
}

/** The client closed its connection: the abort reason of the signal passed to handlers. */
export class ClientGoneError extends Error {
  constructor(cause?: unknown) {
    super('the client is gone', cause === undefined ? undefined : { cause });
  }
}

/** Stream errors after the peer disconnected. */
const ABORT_CODES = [
  'ECONNRESET',
  'EPIPE',
  'ABORT_ERR',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
];

/** The request does not match the schema of the route; `issues` lists the invalid fields. */
export class InvalidRequestError extends RowmillError {
  readonly issues: { path: string; message: string }[];
  constructor(where: 'params' | 'query' | 'body', error: z.ZodError, given: unknown) {
    const issues = error.issues.slice(0, 20).map((issue) => ({
      path: [where, ...issue.path.map(String)].join('.'),
      // The value may be a password.
      message: issueWords(issue, given, { showsValue: false }),
    }));
    const first = issues[0];
    super('REQUEST_INVALID', first ? `${first.path}: ${first.message}` : `the ${where} is invalid`);
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
  else if (refusal.status >= 500) log.error({ ...detail, error: describe(error) }, 'request failed');
  if (refusal.retryAfterMs !== null)
    void reply.header('retry-after', Math.max(1, Math.ceil(refusal.retryAfterMs / 1000)));
  if (refusal.status === 401) void reply.header('www-authenticate', challengeOf(request));
  // A failed download may already have set them.
  for (const name of ['content-length', 'content-disposition', 'content-encoding', 'etag', 'last-modified'])
    void reply.removeHeader(name);
  return reply.code(refusal.status).type(mediaTypeFor(request)).send(body);
}

/** Clients that accept the media type of RFC 9457 get it. */
function mediaTypeFor({ headers }: FastifyRequest): string {
  const isAsked = /\bapplication\/problem\+json\b/i.test(headers.accept ?? '');
  return `application/${isAsked ? 'problem+json' : 'json'}; charset=utf-8`;
}

/** RFC 6750: `invalid_token` if a key was sent. */
function challengeOf({ headers }: FastifyRequest): string {
  return `Bearer realm="rowmill"${headers.authorization === undefined ? '' : ', error="invalid_token"'}`;
}

export function errorAnswerOf(
  error: unknown,
  request: FastifyRequest,
): { refusal: RowmillError; body: ErrorAnswer } {
  const refusal = toRefusal(error, request);
  const issues = refusal instanceof InvalidRequestError ? refusal.issues : undefined;
  return { refusal, body: refusalBody(refusal, request.id, issues) };
}

/** Other errors after a client disconnected are still our errors. */
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

// The error of the client: the server refused a request or could not be reached.
import type { ErrorAnswer } from '../contract/route.ts';
import { ERROR_REGISTRY, type ErrorCode } from '../core/errors/error-registry.ts';

export interface ApiErrorParts {
  /** A code of docs/errors.md; a newer server may have others. */
  code: string;
  message: string;
  hint?: string | undefined;
  /** HTTP status; 0 if there was no response. */
  status?: number | undefined;
  /** Identifies the request in the log of the server. */
  requestId?: string | null | undefined;
  /** Invalid fields of the request. */
  issues?: readonly { path: string; message: string }[] | undefined;
  retryAfterMs?: number | null | undefined;
  cause?: unknown;
}

export class RowmillApiError extends Error {
  readonly code: string;
  readonly hint: string;
  readonly status: number;
  readonly requestId: string | null;
  readonly issues: readonly { path: string; message: string }[];
  /** Wait before a retry, as the server requests it; null if it does not. */
  readonly retryAfterMs: number | null;

  constructor(parts: ApiErrorParts) {
    super(parts.message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.name = 'RowmillApiError';
    this.code = parts.code;
    this.hint = parts.hint ?? '';
    this.status = parts.status ?? 0;
    this.requestId = parts.requestId ?? null;
    this.issues = parts.issues ?? [];
    this.retryAfterMs = parts.retryAfterMs ?? null;
  }
}

/** Converts an error response. The text of a proxy becomes part of the message. */
export function apiErrorOf(status: number, headers: Pick<Headers, 'get'>, text: string): RowmillApiError {
  const answer = parseJson(text);
  const retryAfterMs = parseRetryAfter(headers);
  if (isErrorAnswer(answer)) return new RowmillApiError({ ...answer, status, retryAfterMs });
  return new RowmillApiError({
    ...ofRegistry('API_ANSWER_INVALID'),
    message: `the server answered ${status}: ${text.trim().slice(0, 200) || 'nothing'}`,
    status,
    requestId: headers.get('x-request-id'),
    retryAfterMs,
  });
}

export function unreachable(url: string, cause: unknown): RowmillApiError {
  return new RowmillApiError({
    ...ofRegistry('API_UNREACHABLE'),
    // The web page has no address for its own server.
    message: `cannot reach ${url || 'the server'}: ${reasonOf(cause)}`,
    cause,
  });
}

export function unexpectedAnswer(message: string, status: number): RowmillApiError {
  return new RowmillApiError({ ...ofRegistry('API_ANSWER_INVALID'), message, status });
}

function ofRegistry(code: ErrorCode): { code: string; hint: string } {
  return { code, hint: ERROR_REGISTRY[code].hint };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Checks without the zod schema, so that the web page does not have to load it. */
function isErrorAnswer(answer: unknown): answer is ErrorAnswer {
  if (typeof answer !== 'object' || answer === null) return false;
  const { code, message, hint, requestId, issues = [] } = answer as Record<keyof ErrorAnswer, unknown>;
  const areTexts = [code, message, hint, requestId].every((each) => typeof each === 'string');
  return (
    areTexts &&
    Array.isArray(issues) &&
    issues.every(
      (issue: Partial<Record<'path' | 'message', unknown>> | null) =>
        typeof issue?.path === 'string' && typeof issue.message === 'string',
    )
  );
}

/** Reads seconds. The server never sends the form with a date. */
function parseRetryAfter(headers: Pick<Headers, 'get'>): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

/** The error of fetch has the reason only in its cause. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: unknown; message?: unknown }; message?: unknown };
  return String(cause?.message || cause?.code || message || error);
}

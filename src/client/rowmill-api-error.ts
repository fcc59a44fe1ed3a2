// An error response of the server, or a failure to reach it, as the client throws it.
import type { ErrorAnswer } from '../contract/route.ts';
import { errorDocs } from '../core/errors/error-docs.ts';
import { ERROR_REGISTRY, type ErrorCode } from '../core/errors/error-registry.ts';

export interface ApiErrorParts {
  /** A code of docs/errors.md. A newer server may send others. */
  code: string;
  message: string;
  hint?: string | undefined;
  /** The page and section that explain the code. Older servers do not send it. */
  docs?: string | undefined;
  /** HTTP status; 0 if there was no response. */
  status?: number | undefined;
  /** Identifies the request in the server log. */
  requestId?: string | null | undefined;
  /** Invalid fields of the request. */
  issues?: readonly { path: string; message: string }[] | undefined;
  retryAfterMs?: number | null | undefined;
  cause?: unknown;
}

export class RowmillApiError extends Error {
  readonly code: string;
  readonly hint: string;
  /** The page and section that explain the code: docs/errors.md#job_not_found. */
  readonly docs: string;
  readonly status: number;
  readonly requestId: string | null;
  readonly issues: readonly { path: string; message: string }[];
  /** The server's Retry-After; null if it sent none. */
  readonly retryAfterMs: number | null;

  constructor(parts: ApiErrorParts) {
    super(parts.message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.name = 'RowmillApiError';
    this.code = parts.code;
    this.hint = parts.hint ?? '';
    this.docs = parts.docs ?? errorDocs(parts.code);
    this.status = parts.status ?? 0;
    this.requestId = parts.requestId ?? null;
    this.issues = parts.issues ?? [];
    this.retryAfterMs = parts.retryAfterMs ?? null;
  }
}

/** Parses an error response. A proxy may have sent it, in a format of its own. */
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
    // The web UI calls its server without a URL.
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

/** Checks the contract's shape without its schema, which the web UI would otherwise have to load. */
function isErrorAnswer(answer: unknown): answer is ErrorAnswer {
  if (typeof answer !== 'object' || answer === null) return false;
  const {
    code,
    message,
    hint,
    docs = '',
    requestId,
    issues = [],
  } = answer as Record<keyof ErrorAnswer, unknown>;
  const areTexts = [code, message, hint, docs, requestId].every((each) => typeof each === 'string');
  return (
    areTexts &&
    Array.isArray(issues) &&
    issues.every(
      (issue: Partial<Record<'path' | 'message', unknown>> | null) =>
        typeof issue?.path === 'string' && typeof issue.message === 'string',
    )
  );
}

/** Only seconds are parsed: this server never sends a date. */
function parseRetryAfter(headers: Pick<Headers, 'get'>): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

/** fetch only reports that it failed; the cause has the reason. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: unknown; message?: unknown }; message?: unknown };
  return String(cause?.message || cause?.code || message || error);
}

// A refusal of the server, or that it could not be reached, as the caller of the client gets it.
import type { ErrorAnswer } from '../contract/route.ts';
import { ERROR_REGISTRY, type ErrorCode } from '../core/errors/error-registry.ts';

export interface ApiErrorParts {
  /** As in docs/errors.md; a newer server may have more. */
  code: string;
  message: string;
  hint?: string | undefined;
  /** Of the HTTP answer; 0: there was none. */
  status?: number | undefined;
  /** Names the request in the log of the server. */
  requestId?: string | null | undefined;
  /** Where the request is wrong. */
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
  /** When the server says that another try is of use; null: it did not say. */
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

/** What an answer that is not a success says. A proxy in between answers in words of its own. */
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
    // A page knows its server by no address.
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

/** As the contract has it, without its schema: a page that never fails need not have it. */
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

/** Seconds; the form with a date is not sent by this server. */
function parseRetryAfter(headers: Pick<Headers, 'get'>): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

/** fetch says only that it failed; the reason is the cause. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: unknown; message?: unknown }; message?: unknown };
  return String(cause?.message || cause?.code || message || error);
}

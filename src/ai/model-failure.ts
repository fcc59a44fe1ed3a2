// Turns an error of the AI SDK into one that Rowmill classifies: status, wait and cause.
import { rateLimitWait } from './rate-limit-wait.ts';

/** The part of an APICallError that matters here. */
interface CallFailure extends Error {
  readonly statusCode?: number;
  readonly responseHeaders?: Record<string, string>;
  readonly responseBody?: string;
}

/** True if the provider refused the call, which is then not billed. */
export function isRefused(error: unknown): boolean {
  return ((error as CallFailure | null)?.statusCode ?? 0) >= 400;
}

/** Retry-After, which `classifyError` reads from the headers, has precedence over other waits. */
export function modelFailure(error: unknown, model: string): Error {
  const { message, statusCode, responseHeaders: headers = {}, responseBody = '' } = error as CallFailure;
  const hasRetryAfter = 'retry-after' in headers || 'retry-after-ms' in headers;
  const retryAfterMs = hasRetryAfter ? null : rateLimitWait(headers, responseBody);
  // An account without credit is refused with 429, but waiting does not help.
  const hasNoCredit = statusCode === 429 && responseBody.includes('insufficient_quota');
  return Object.assign(new Error(`${model}: ${message}`, { cause: error }), {
    status: hasNoCredit ? 402 : statusCode,
    headers,
    retryAfterMs,
  });
}

/** A call that exceeded its own time limit: class timeout. Its cost is unknown. */
export function noAnswer(timeoutMs: number): Error {
  return Object.assign(new Error(`no answer within ${timeoutMs} ms`), { statusCode: 408 });
}

/** Moves the row to its next strategy at once: the class is not_found, without a wait. */
export function nextModel(failure: Error): Error {
  return Object.assign(new Error(failure.message, { cause: failure }), { status: 404, retryAfterMs: 0 });
}

/** Structured output that does not match its schema after the repair: class invalid. */
export function unusableOutput(error: Error, model: string): Error {
  const message = `${model}: the output does not match the schema after one repair: ${reasonOf(error)}`;
  return Object.assign(new Error(message), { status: 422 });
}

const MAX_REASON_LENGTH = 1000;

/** The issues that the schema or the JSON parser found, in one line. */
export function reasonOf(error: Error): string {
  const cause = error.cause as (Error & { cause?: unknown }) | undefined;
  const issues = (cause?.cause as { issues?: { path?: unknown[]; message: string }[] } | undefined)?.issues;
  const reason = Array.isArray(issues)
    ? issues.map(({ path = [], message }) => [path.join('.'), message].filter(Boolean).join(': ')).join('; ')
    : (cause?.message ?? error.message).split('\n')[0]!;
  return reason.slice(0, MAX_REASON_LENGTH);
}

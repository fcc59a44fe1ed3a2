// The body of every refusal: our fields and those of RFC 9457. Its length is bounded whatever the request contained,
// and its hint applies to HTTP clients.
import type { ErrorAnswer } from '../../contract/route.ts';
import { ERROR_REGISTRY, type RegisteredError } from '../../core/errors/error-registry.ts';
import { isErrorCode, type RowmillError } from '../../core/errors/rowmill-error.ts';

const MESSAGE_MAX = 1000;
/** A `rowmill` command, or an option of one. */
const COMMAND_LINE = /\browmill [a-z]+|(^|[\s`(])--[a-z]/;

export function refusalBody(
  { code, message, hint, docs, status, retryAfterMs }: RowmillError,
  requestId: string,
  issues?: readonly { path: string; message: string }[],
): ErrorAnswer {
  const detail = bounded(message);
  return {
    type: `urn:rowmill:error:${code.toLowerCase().replaceAll('_', '-')}`,
    title: titleOf(code),
    status,
    detail,
    code,
    message: detail,
    hint: bounded(apiHintOf(code, hint)),
    docs,
    requestId,
    ...(retryAfterMs !== null && { retryAfterMs }),
    ...(issues && {
      issues: issues.map(({ path, message: found }) => ({ path: bounded(path), message: bounded(found) })),
    }),
  };
}

/** The first hint that does not refer to the command line. A hint written for HTTP replaces the general one. */
export function apiHintOf(code: string, hint: string): string {
  const entry: RegisteredError = isErrorCode(code) ? ERROR_REGISTRY[code] : ERROR_REGISTRY.INTERNAL_ERROR;
  const own = hint === entry.hint ? undefined : hint;
  return (
    [own, entry.apiHint, entry.hint].find((each) => each !== undefined && !COMMAND_LINE.test(each)) ?? ''
  );
}

/** Turns JOB_NOT_FOUND into "Job not found". */
function titleOf(code: string): string {
  const words = code.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function bounded(text: string): string {
  return text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX - 1).toWellFormed()}…`;
}

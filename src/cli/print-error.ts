// Prints errors for a terminal: what is wrong, what to do, and where it is explained. Only unexpected errors get a
// stack.
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RowmillApiError } from '../client/rowmill-api-error.ts';
import { errorDocs } from '../core/errors/error-docs.ts';
import { ERROR_REGISTRY } from '../core/errors/error-registry.ts';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { databaseErrorKind, databaseErrorText } from '../platform/database-error.ts';
import { ofRefusal } from '../platform/to-rowmill-error.ts';
import { originOf } from './error-origin.ts';
import { printable } from './progress-lines.ts';

/** Replace the hints of a server, which name no commands. */
const SERVER_HINTS: ReadonlyMap<string, string> = new Map([
  ['UNAUTHENTICATED', 'Sign in with `rowmill login`, or set ROWMILL_API_KEY.'],
  ['FORBIDDEN', ERROR_REGISTRY.FORBIDDEN.hint],
  ['NOTHING_TO_REPROCESS', ERROR_REGISTRY.NOTHING_TO_REPROCESS.hint],
]);

export function printError(thrown: unknown, json = false): void {
  const error = ofDatabase(thrown) ?? thrown;
  if (!(error instanceof RowmillError || isOfServer(error))) {
    if (json) {
      const { hint } = ERROR_REGISTRY.INTERNAL_ERROR;
      const message = error instanceof Error ? error.message : String(error);
      const details = { code: 'INTERNAL_ERROR', message, hint, docs: errorDocs('INTERNAL_ERROR') };
      console.log(JSON.stringify({ ok: false, error: details }));
    }
    console.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return;
  }
  const { code, message } = error;
  const hint = (isOfServer(error) ? SERVER_HINTS.get(code) : undefined) ?? error.hint;
  const requestId = isOfServer(error) ? error.requestId : null;
  const asked = originOf(thrown);
  if (json) {
    const details = {
      code,
      message,
      hint,
      docs: error.docs,
      ...(asked && { asked }),
      ...(requestId && { requestId }),
    };
    console.log(JSON.stringify({ ok: false, error: details }));
    return;
  }
  console.error(`error: ${printable(message)} [${code}]`);
  if (hint !== '') console.error(`  ${printable(withPagePaths(hint))}`);
  console.error(`  See ${printable(withPagePaths(error.docs))}`);
  if (asked) console.error(`  Target: ${asked}${requestId ? `, request ${printable(requestId)}` : ''}`);
}

/** The pages ship with the package: shows their paths relative to the working directory, or absolute if outside. */
function withPagePaths(text: string): string {
  return text.replace(/(?<![/\w])docs\/[\w-]+\.md/g, (page) => {
    const path = fileURLToPath(new URL(`../../${page}`, import.meta.url));
    const fromHere = relative(process.cwd(), path);
    return fromHere.startsWith('..') ? path : fromHere;
  });
}

/** Null unless a database connection failed, or the login lacks a privilege. */
function ofDatabase(error: unknown): RowmillError | null {
  if (!(error instanceof Error) || error instanceof RowmillError || isOfServer(error)) return null;
  const refusal = ofRefusal(error);
  if (refusal) return refusal;
  if (databaseErrorKind(error) !== 'passing') return null;
  return new RowmillError(
    'DATABASE_UNREACHABLE',
    `the database did not answer: ${databaseErrorText(error)}`,
    {
      hint: 'Try again when PostgreSQL is back. No stored data is lost.',
    },
  );
}

/** Checks the name, so commands that call no server need not load the client. */
function isOfServer(error: unknown): error is RowmillApiError {
  return error instanceof Error && error.name === 'RowmillApiError';
}

// Errors as a person at the terminal sees them: what, and what to do. A stack only for what we did not foresee.
import { RowmillError } from '../core/rowmill-error.ts';
import { printable } from './progress-lines.ts';

export function printError(error: unknown, json = false): void {
  if (error instanceof RowmillError) {
    if (json)
      console.log(
        JSON.stringify({ ok: false, error: { code: error.code, message: error.message, hint: error.hint } }),
      );
    else console.error(`error: ${printable(error.message)} [${error.code}]\n  ${error.hint}`);
    return;
  }
  console.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
}

// Converts any thrown value, or an error that crossed a process boundary as plain fields, to a RowmillError. The
// message is always kept, and a code that the registry does not know becomes INTERNAL_ERROR.
import { isErrorCode, RowmillError } from '../core/errors/rowmill-error.ts';
import { databaseErrorKind, databaseErrorText } from './database-error.ts';

export function toRowmillError(error: unknown): RowmillError {
  if (error instanceof RowmillError) return error;
  const { code, hint } = (error ?? {}) as { code?: unknown; hint?: unknown };
  const message = databaseErrorText(error);
  const options = { cause: error, ...(typeof hint === 'string' && { hint }) };
  if (isErrorCode(code)) return new RowmillError(code, message, options);
  const refusal = ofRefusal(error);
  if (refusal) return refusal;
  if (databaseErrorKind(error) === 'passing')
    return new RowmillError('DATABASE_UNREACHABLE', `the database did not answer: ${message}`, {
      cause: error,
    });
  return new RowmillError('INTERNAL_ERROR', message, { cause: error });
}

/** For a login that PostgreSQL refuses, or that lacks a privilege. Null for other errors. */
export function ofRefusal(error: unknown): RowmillError | null {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  if (code === '42501')
    return new RowmillError(
      'DATABASE_FORBIDDEN',
      `the database login lacks a privilege: ${databaseErrorText(error)}`,
      { cause: error },
    );
  if (code === '28P01' || code === '28000')
    return new RowmillError(
      'DATABASE_UNREACHABLE',
      `PostgreSQL refused the login: ${databaseErrorText(error)}`,
      { cause: error, hint: 'Check the user and password in DATABASE_URL, and pg_hba.conf of the server.' },
    );
  return null;
}

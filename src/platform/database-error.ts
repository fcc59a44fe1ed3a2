// Classifies database errors by what the caller should do: retry the transaction, find the bad row, or give up.
// SQLSTATE classes are from appendix A of the PostgreSQL manual.

export type DatabaseErrorKind = 'passing' | 'data' | 'other';

const PASSING_STATES = new Set([
  '40001',
  '40P01',
  '55P03',
  '25006',
  '25P02',
  '25P03',
  '57014',
  '26000',
  '42P05',
]);
const PASSING_CLASSES = new Set(['08', '53', '57', '58', 'XX']);
const DATA_CLASSES = new Set(['21', '22', '23', '54']);
const NETWORK_CODES = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

export function databaseErrorKind(error: unknown): DatabaseErrorKind {
  if (error === null || typeof error !== 'object') return 'other';
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    if (NETWORK_CODES.has(code) || PASSING_STATES.has(code)) return 'passing';
    // Only connect: the Unix socket of a server that is down reappears, other missing files do not.
    if (code === 'ENOENT' && (error as { syscall?: unknown }).syscall === 'connect') return 'passing';
    if (/^[0-9A-Z]{5}$/.test(code)) {
      if (PASSING_CLASSES.has(code.slice(0, 2))) return 'passing';
      if (DATA_CLASSES.has(code.slice(0, 2))) return 'data';
      return 'other';
    }
  }
  const message = String((error as { message?: unknown }).message ?? '');
  return /connection (was )?terminated|connection ended|not queryable|timeout exceeded when trying to connect|deadline|socket/i.test(
    message,
  )
    ? 'passing'
    : 'other';
}

/** Never empty: a host with several addresses fails with an AggregateError, whose own message is empty. */
export function databaseErrorText(error: unknown): string {
  if (error === null || typeof error !== 'object') return String(error);
  const { message, errors, code } = error as { message?: unknown; errors?: unknown; code?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  if (Array.isArray(errors) && errors.length > 0) return errors.map(databaseErrorText).join('; ');
  return typeof code === 'string' ? code : Object.prototype.toString.call(error);
}

/** The server no longer knows a named statement, or another client of the same pooler uses its name. */
export function isStatementNameError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === '26000' || code === '42P05';
}

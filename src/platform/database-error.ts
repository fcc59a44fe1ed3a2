// Tells apart what a database error means for the caller: try the whole transaction again, look for the
// one bad row, or stop. SQLSTATE classes are from PostgreSQL's appendix A.

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
    // The socket of a server that is down; a file that is not there does not come back.
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

/** Never empty: a host with several addresses fails with an AggregateError, whose own message is. */
export function databaseErrorText(error: unknown): string {
  if (error === null || typeof error !== 'object') return String(error);
  const { message, errors, code } = error as { message?: unknown; errors?: unknown; code?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  if (Array.isArray(errors) && errors.length > 0) return errors.map(databaseErrorText).join('; ');
  return typeof code === 'string' ? code : Object.prototype.toString.call(error);
}

/** The server forgot, or another client of the same pooler took, a named statement. */
export function isStatementNameError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return code === '26000' || code === '42P05';
}

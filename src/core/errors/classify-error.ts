// Classifies a thrown value by its HTTP status, the code of a network or database library, and Retry-After. A handler
// may throw anything, so every property is read defensively.
import type { ErrorClass, Failure } from '../items/outcome.ts';
import { toStorableText } from '../items/storable-json.ts';

export const MAX_ERROR_LENGTH = 8000;

const NETWORK_CODES = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_SOCKET',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'ERR_STREAM_PREMATURE_CLOSE',
]);
/** Codes of clients for PostgreSQL (postgres.js), MySQL, SQL Server and SQLite, and of Prisma. */
const DATABASE_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'PROTOCOL_CONNECTION_LOST',
  'ER_CON_COUNT_ERROR',
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_SERVER_SHUTDOWN',
  'ECONNCLOSED',
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'P1001',
  'P1017',
  'P2024',
  'P2034',
]);
/** SQLSTATE of lost connections, serialization failures, deadlocks, locks, missing resources and shutdown. */
const PASSING_SQLSTATE = /^(?:08[0-9A-Z]{3}|40001|40P01|53[0-9A-Z]{3}|55P03|57P0[0-9A-Z])$/;
const TIMEOUT_CODES = new Set([
  'ETIMEDOUT',
  'ESOCKETTIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEOUT',
  'CONNECT_TIMEOUT',
  'P1002',
  'P1008',
  // SQLSTATE of a statement that was cancelled, as statement_timeout does.
  '57014',
]);

/** Maximum depth of causes: a client wraps its transport error, a handler wraps its client's error. */
const MAX_CAUSES = 5;

export function classifyError(error: unknown, nowMs: number): Failure {
  const chain = [error];
  for (let cause = read(error, 'cause'); cause !== undefined && chain.length <= MAX_CAUSES; ) {
    chain.push(cause);
    cause = read(cause, 'cause');
  }
  const found = chain.map(classOf).find((each) => each !== null);
  const retryAfter = chain.map((each) => retryAfterOf(each, nowMs)).find((ms) => ms !== null);
  return {
    class: found ?? 'permanent',
    message: describeWithCauses(chain),
    retryAfterMs: retryAfter ?? null,
  };
}

/** Null if the error does not indicate a class. */
function classOf(error: unknown): ErrorClass | null {
  const status =
    firstNumber(error, ['status', 'statusCode']) ??
    firstNumber(read(error, 'response'), ['status', 'statusCode']);
  const given = read(error, 'code');
  const code = typeof given === 'string' ? given : '';
  // Errors of Rowmill have a status for its own HTTP API. It is not the answer of a service that the handler asked.
  if (read(error, 'name') === 'RowmillError') return isPassing(error) ? 'overloaded' : 'permanent';
  if (status === 429) return 'throttled';
  if (status === 404 || status === 410) return 'not_found';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 425 || (status !== null && status >= 500)) return 'overloaded';
  if (status === 400 || status === 422) return 'invalid';
  if (status !== null && status >= 400) return 'permanent';
  if (TIMEOUT_CODES.has(code) || read(error, 'name') === 'TimeoutError') return 'timeout';
  const passes = NETWORK_CODES.has(code) || DATABASE_CODES.has(code) || PASSING_SQLSTATE.test(code);
  return passes ? 'overloaded' : null;
}

/** True for an error of Rowmill that names a time for the next try, and for a service that did not answer. */
function isPassing(error: unknown): boolean {
  return read(error, 'status') === 503 || firstNumber(error, ['retryAfterMs']) !== null;
}

/** Reads seconds or an HTTP date from `Retry-After`, and milliseconds from `retry-after-ms` or `retryAfterMs`. */
function retryAfterOf(error: unknown, nowMs: number): number | null {
  const direct = firstNumber(error, ['retryAfterMs']);
  if (direct !== null) return Math.max(0, direct);
  const headers = read(error, 'headers') ?? read(read(error, 'response'), 'headers');
  const ms = Number(textOf(header(headers, 'retry-after-ms')) ?? Number.NaN);
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const text = textOf(header(headers, 'retry-after')) ?? textOf(read(error, 'retryAfter'));
  if (text === null) return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.min(Number.MAX_VALUE, Math.max(0, seconds * 1000));
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}

function header(headers: unknown, name: string): unknown {
  const get = read(headers, 'get');
  if (typeof get === 'function') {
    try {
      return get.call(headers, name);
    } catch {
      return null;
    }
  }
  const exact = read(headers, name);
  if (exact !== undefined || headers === null || typeof headers !== 'object') return exact;
  try {
    return read(headers, Object.keys(headers).find((key) => key.toLowerCase() === name) ?? name);
  } catch {
    return undefined;
  }
}

/** Adds the causes to the message, each once, because `fetch failed` alone does not help. */
function describeWithCauses([error, ...causes]: readonly unknown[]): string {
  let text = describe(error);
  for (const cause of causes) {
    const because = textOf(cause) ?? textOf(read(cause, 'message')) ?? textOf(read(cause, 'code'));
    if (because !== null && !text.includes(because)) text = `${text}: ${because}`;
  }
  return toStorableText(text, MAX_ERROR_LENGTH);
}

/** A bounded message for anything that can be thrown. */
export function describe(error: unknown): string {
  let text: string;
  try {
    if (error instanceof Error) text = String(error.message || error.name);
    else if (typeof error === 'string') text = error;
    else if (error === null || error === undefined) text = `the handler threw ${String(error)}`;
    else if (typeof error === 'object') {
      const message = read(error, 'message');
      text = typeof message === 'string' && message ? message : `the handler threw ${safeJson(error)}`;
    } else text = `the handler threw ${String(error)}`;
  } catch {
    text = 'the handler threw a value that cannot be read';
  }
  return toStorableText(text, MAX_ERROR_LENGTH);
}

function safeJson(value: object): string {
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}

function read(value: unknown, property: string): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined;
  try {
    return (value as Record<string, unknown>)[property];
  } catch {
    return undefined;
  }
}

/** Text, or a number as text. Conversions of other values cannot be trusted. */
function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : null;
}

function firstNumber(value: unknown, properties: string[]): number | null {
  for (const property of properties) {
    const found = read(value, property);
    if (typeof found === 'number' && Number.isFinite(found)) return found;
  }
  return null;
}

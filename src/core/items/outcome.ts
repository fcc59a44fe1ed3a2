// The closed set of outcomes of a handler call. Handlers return data, or one of the verdicts created here.

export const ITEM_STATUSES = ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'] as const;
/** Terminal statuses. PENDING and PROCESSING are derived from spans. */
export type ItemStatus = (typeof ITEM_STATUSES)[number];

export const ERROR_CLASSES = [
  'throttled',
  'overloaded',
  'timeout',
  'not_found',
  'invalid',
  'permanent',
  'crashed',
] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

const VERDICT = Symbol.for('rowmill.verdict');

/** A value that a handler may return instead of data. */
export class Verdict {
  // A symbol instead of instanceof, because the handler may use another copy of this module.
  readonly [VERDICT] = true;
  readonly kind: 'not_found' | 'skip' | 'fail' | 'retry_later';
  readonly reason: string;
  readonly afterMs: number | null;

  constructor(kind: Verdict['kind'], reason: string, afterMs: number | null = null) {
    this.kind = kind;
    this.reason = reason;
    this.afterMs = afterMs;
  }
}

export function isVerdict(value: unknown): value is Verdict {
  return typeof value === 'object' && value !== null && (value as { [VERDICT]?: unknown })[VERDICT] === true;
}

/** False for a value whose `instanceof` throws: a hostile Proxy. */
export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

export function notFound(reason = 'not found'): Verdict {
  return new Verdict('not_found', reason);
}

export function skip(reason: string): Verdict {
  return new Verdict('skip', reason);
}

export function fail(reason: string): Verdict {
  return new Verdict('fail', reason);
}

export function retryLater(options: { afterMs?: number; reason?: string } = {}): Verdict {
  return new Verdict(
    'retry_later',
    options.reason ?? 'the handler asked for a later retry',
    options.afterMs ?? null,
  );
}

export interface Failure {
  class: ErrorClass;
  message: string;
  /** Wait that the service or the handler asked for, in milliseconds. */
  retryAfterMs: number | null;
  /** The handler asked for the retry, so it says nothing about a service. */
  asked?: true;
}

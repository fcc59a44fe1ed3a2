// The header Idempotency-Key, for every route of the table: a request is carried out once, and the same key again gets the
// first answer, whether it was a success or a refusal.
import type { FastifyRequest } from 'fastify';
import { idempotencyOf } from '../../contract/idempotency.ts';
import type { Route } from '../../contract/route.ts';
import type { RouteName } from '../../contract/routes.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { type Reserved, reserveAnswer } from '../../engine/jobs/answer-once.ts';
import { errorAnswerOf } from './answer-error.ts';
import type { ApiContext } from '../api-context.ts';
import type { ApiRequest } from './handler.ts';

const MAX_KEY_LENGTH = 200;
const MAX_ANSWER_LENGTH = 262_144;
/** The caller can do something about these and come back with the same key; nothing was done. */
const NOTHING_DONE = [401, 403, 429];

/** Undefined: none was given. */
export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  const given = headers['idempotency-key'];
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || given === '' || given.length > MAX_KEY_LENGTH)
    throw new RowmillError(
      'REQUEST_INVALID',
      `expected the header Idempotency-Key to have 1 to ${MAX_KEY_LENGTH} characters`,
    );
  return given;
}

/** A key that would be ignored is refused: its sender relies on it. */
export function checkIdempotencyKey(route: Route, raw: FastifyRequest): void {
  if (idempotencyOf(route) !== 'refused' || idempotencyKeyOf(raw) === undefined) return;
  throw new RowmillError('REQUEST_INVALID', 'this route takes no header Idempotency-Key', {
    hint: 'Send the request without it. docs/http-api.md lists the routes that take none.',
  });
}

/** Null: the request has no key, or its route deals with it. */
export async function reserveOnce(
  name: RouteName,
  route: Route,
  { actor, params, query, body, raw, engine }: ApiRequest<Route>,
): Promise<Reserved | null> {
  const key = idempotencyOf(route) === 'stored' ? idempotencyKeyOf(raw) : undefined;
  if (key === undefined) return null;
  return reserveAnswer(engine, { caller: actor!.userId, key, asked: textOf([name, params, query, body]) });
}

/** A body may be nested deeper than the stack is. */
function textOf(asked: unknown): string {
  try {
    return JSON.stringify(asked);
  } catch (cause) {
    throw new RowmillError('REQUEST_INVALID', 'expected the body not to be nested that deep', { cause });
  }
}

/** The answer is stored before it is sent: a client that hears it can rely on hearing it again. */
export async function keepAnswer(
  reserved: Extract<Reserved, { kind: 'new' }>,
  outcome: { status: number; answered: unknown } | { error: unknown },
  { raw }: ApiRequest<Route>,
  { log }: ApiContext,
): Promise<void> {
  const detail = { requestId: raw.id, route: raw.routeOptions.url };
  try {
    const kept = 'error' in outcome ? ofError(outcome.error, raw) : ofAnswer(outcome);
    // A request that met an outage may have had its effect: it must not be carried out again.
    if (kept === 'unknown') return;
    const isKept = kept === 'nothing done' ? await reserved.release() : await reserved.store(kept);
    if (!isKept) log.warn(detail, 'idempotency key expired before its request was answered');
  } catch (error) {
    log.warn(
      { ...detail, error: (error as Error).message },
      'storing the response of an idempotency key failed',
    );
  }
}

type Kept = { status: number; text: string } | 'nothing done' | 'unknown';

function ofAnswer({ status, answered }: { status: number; answered: unknown }): Kept {
  const text = JSON.stringify(answered ?? null);
  return text.length > MAX_ANSWER_LENGTH ? 'unknown' : { status, text };
}

function ofError(error: unknown, raw: FastifyRequest): Kept {
  const { refusal, body } = errorAnswerOf(error, raw);
  if (refusal.status === 503) return 'unknown';
  if (NOTHING_DONE.includes(refusal.status) || refusal.retryAfterMs !== null) return 'nothing done';
  return { status: refusal.status, text: JSON.stringify(body) };
}

// The header Idempotency-Key, for every route of the table. A request is carried out once; the same key again gets the
// first answer, whether that was a success or a refusal.
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
/** Nothing was done, and the caller can fix the cause and retry with the same key. */
const NOTHING_DONE = [401, 403, 429];

/** Undefined if the header is missing. */
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

/** Refuses a key that would be ignored, because the client relies on it. */
export function checkIdempotencyKey(route: Route, raw: FastifyRequest): void {
  if (idempotencyOf(route) !== 'refused' || idempotencyKeyOf(raw) === undefined) return;
  throw new RowmillError('REQUEST_INVALID', 'this route does not accept the header Idempotency-Key', {
    hint: 'Send the request without it. See docs/http-api.md for the routes that do not accept it.',
  });
}

/** Null if the request has no key, or if its route handles the key itself. */
export async function reserveOnce(
  name: RouteName,
  route: Route,
  { actor, params, query, body, raw, engine }: ApiRequest<Route>,
): Promise<Reserved | null> {
  const key = idempotencyOf(route) === 'stored' ? idempotencyKeyOf(raw) : undefined;
  if (key === undefined) return null;
  return reserveAnswer(engine, { caller: actor!.userId, key, asked: textOf([name, params, query, body]) });
}

/** A deeply nested body overflows the stack of JSON.stringify. */
function textOf(asked: unknown): string {
  try {
    return JSON.stringify(asked);
  } catch (cause) {
    throw new RowmillError('REQUEST_INVALID', 'the body is nested too deeply', { cause });
  }
}

/** Stores the answer before it is sent, so that a client that received it gets the same one again. */
export async function keepAnswer(
  reserved: Extract<Reserved, { kind: 'new' }>,
  outcome: { status: number; answered: unknown } | { error: unknown },
  { raw }: ApiRequest<Route>,
  { log }: ApiContext,
): Promise<void> {
  const detail = { requestId: raw.id, route: raw.routeOptions.url };
  try {
    const kept = 'error' in outcome ? ofError(outcome.error, raw) : ofAnswer(outcome);
    // The request may have taken effect before the outage, so it must not be carried out again.
    if (kept === 'unknown') return;
    const isKept = kept === 'nothing done' ? await reserved.release() : await reserved.store(kept);
    if (!isKept) log.warn(detail, 'idempotency key expired before its request was answered');
  } catch (error) {
    log.warn(
      { ...detail, error: (error as Error).message },
      'storing the answer of an idempotency key failed',
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

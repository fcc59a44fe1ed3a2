// One response for all requests with the same idempotency key. The key is reserved before the request runs, so only
// one of several concurrent requests runs. If the process dies before the response is stored, the effect of the
// request is unknown: the key stays reserved for idempotencyKeepMs, and no request with it runs.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { newId } from '../../platform/random.ts';
import { retryPassing } from '../../platform/retry-passing.ts';
import { hashToken } from '../../platform/secret-token.ts';
import {
  isKeyBoundReached,
  type KeptAnswer,
  readKey,
  releaseKey,
  reserveKey,
  storeAnswer,
} from '../../store/commands/jobs/idempotency-keys.ts';
import type { EngineContext } from '../engine-context.ts';

export interface KeyedRequest {
  caller: string;
  key: string;
  /** The request in a canonical form: equal for equal requests. */
  asked: string;
}

export type Reserved =
  /**
   * The caller runs the request and then calls one of the two. Both resolve false if the key expired in the meantime.
   */
  | { kind: 'new'; store(answer: KeptAnswer): Promise<boolean>; release(): Promise<boolean> }
  | { kind: 'answered'; answer: KeptAnswer };

/** A reservation that was released between two statements is requested again. */
const TRIES = 3;

export async function reserveAnswer(context: EngineContext, request: KeyedRequest): Promise<Reserved> {
  const { db, settings } = context;
  const { idempotencyKeepMs: keepMs, userMaxIdempotencyKeys: maxKeys } = settings;
  const key = { caller: request.caller, keyHash: hashToken(request.key) };
  const requestHash = hashToken(request.asked);
  // Created once, so a retried reservation finds its own row.
  const token = newId();
  const reserved: Reserved = {
    kind: 'new',
    store: (answer) => retryPassing(() => storeAnswer(db, key, token, answer)),
    release: () => retryPassing(() => releaseKey(db, key, token)),
  };
  for (let tries = 0; tries < TRIES; tries += 1) {
    const isNew = await retryPassing(() => reserveKey(db, key, { requestHash, token, keepMs, maxKeys }));
    if (isNew) return reserved;
    const kept = await retryPassing(() => readKey(db, key));
    if (kept === null && (await isKeyBoundReached(db, key.caller, maxKeys)))
      throw new RowmillError(
        'TOO_MANY_IDEMPOTENCY_KEYS',
        `expected at most ${maxKeys} idempotency keys of one account (userMaxIdempotencyKeys), got one more`,
      );
    if (kept === null) continue;
    if (kept.token === token) return reserved;
    if (!kept.requestHash.equals(requestHash))
      throw new RowmillError('IDEMPOTENCY_KEY_REUSED', 'this idempotency key was used for another request');
    if (kept.answer !== null) return { kind: 'answered', answer: kept.answer };
    break;
  }
  throw new RowmillError(
    'IDEMPOTENCY_KEY_IN_USE',
    'the first request with this idempotency key has no answer yet',
  );
}

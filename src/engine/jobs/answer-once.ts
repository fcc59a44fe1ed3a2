// One answer for all requests with the same idempotency key. The key is reserved before anything is done, so of requests at
// the same moment one is carried out. If its process dies before the answer is stored, nobody knows what it did: the key
// stays taken until it is forgotten (idempotencyKeepMs), and no request with it is carried out.
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

/** Of the key and what is asked with it. */
export interface KeyedRequest {
  caller: string;
  key: string;
  /** What is asked, in a form that is the same for the same request. */
  asked: string;
}

export type Reserved =
  /** To be carried out; then one of the two is called. Both resolve false when the key was forgotten meanwhile. */
  | { kind: 'new'; store(answer: KeptAnswer): Promise<boolean>; release(): Promise<boolean> }
  | { kind: 'answered'; answer: KeptAnswer };

/** A reservation that was released between two statements is asked for again. */
const TRIES = 3;

export async function reserveAnswer(context: EngineContext, request: KeyedRequest): Promise<Reserved> {
  const { db, settings } = context;
  const { idempotencyKeepMs: keepMs, userMaxIdempotencyKeys: maxKeys } = settings;
  const key = { caller: request.caller, keyHash: hashToken(request.key) };
  const requestHash = hashToken(request.asked);
  // Made once: a reservation whose reply was lost finds its own row.
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

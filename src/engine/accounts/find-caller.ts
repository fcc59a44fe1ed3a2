// Finds the account of a session token or an API key. Role, team and disabled state are read on every request. The
// time of last use is written at most once a minute.
import { hashToken, sameHash } from '../../platform/secret-token.ts';
import { touchKey } from '../../store/commands/accounts/revoke-keys.ts';
import { touchSession } from '../../store/commands/accounts/touch-session.ts';
import { type FoundKey, findKey } from '../../store/views/accounts/find-key.ts';
import { type FoundSession, findSession } from '../../store/views/accounts/find-session.ts';
import type { EngineContext } from '../engine-context.ts';

const TOUCH_MS = 60_000;
/** Compared if the key does not exist, so that both cases take the same time. */
const NO_HASH = Buffer.alloc(32);

export async function findSessionCaller(
  { db, settings }: EngineContext,
  tokenHash: Buffer,
): Promise<FoundSession | null> {
  const { sessionIdleMs: idleMs, confirmMs } = settings;
  const touchMs = Math.min(TOUCH_MS, idleMs / 4);
  const found = await findSession(db, tokenHash, { idleMs, touchMs, confirmMs });
  if (found?.isStale) await touchSession(db, tokenHash);
  return found;
}

export async function findKeyCaller(
  { db }: EngineContext,
  keyId: string,
  secret: string,
): Promise<FoundKey | null> {
  const found = await findKey(db, keyId, TOUCH_MS);
  const isSame = sameHash(hashToken(secret), found?.secretHash ?? NO_HASH);
  if (!found || !isSame) return null;
  if (found.isStale) await touchKey(db, keyId);
  return found;
}

// Identifies the caller by the session cookie, or by an API key in the header Authorization. A request with both is
// refused, and so is a key in the URL.
import type { FastifyRequest } from 'fastify';
import { scopesOf } from '../../contract/permission.ts';
import { SCOPES } from '../../contract/scopes.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { findKeyCaller, findSessionCaller } from '../../engine/accounts/find-caller.ts';
import { reportExposedKey } from '../../engine/accounts/report-exposed-key.ts';
import { hashToken } from '../../platform/secret-token.ts';
import { type Actor, LOCAL_ACTOR } from './actor.ts';
import type { ApiContext } from '../api-context.ts';
import { checkSameOrigin, isUnsafe } from './cross-site.ts';
import { readSessionCookie } from './session-cookie.ts';

const KEY = /^rmk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/;

/**
 * The caller of an open route. A page of another site may not change anything in the name of a user. Without accounts
 * it may not read either: any request that reaches the server has all rights, and the number of streams is limited.
 */
export function admitAnybody(request: FastifyRequest, { engine }: ApiContext): Actor | null {
  const isLocal = engine.settings.authentication === 'none';
  if (isLocal || isUnsafe(request)) checkSameOrigin(request, engine.settings, { byCookie: false });
  return isLocal ? LOCAL_ACTOR : null;
}

export async function authenticate(request: FastifyRequest, context: ApiContext): Promise<Actor | null> {
  const { settings } = context.engine;
  if (settings.authentication === 'none') return admitAnybody(request, context);
  await refuseKeyInAddress(request, context);
  const token = readSessionCookie(request, settings);
  const authorization = request.headers.authorization ?? '';
  const bearer = /^bearer /i.test(authorization) ? authorization.slice(7).trim() : undefined;
  if (token !== null && bearer !== undefined)
    throw new RowmillError('REQUEST_INVALID', 'expected a session or an API key, got both');
  if (bearer !== undefined) return keyActor(bearer, context);
  if (isUnsafe(request)) checkSameOrigin(request, settings, { byCookie: token !== null });
  return token === null ? null : sessionActor(hashToken(token), context);
}

/** Null if the session has expired or was ended. */
export async function sessionActor(
  sessionId: Buffer,
  { engine }: Pick<ApiContext, 'engine'>,
): Promise<Actor | null> {
  const found = await findSessionCaller(engine, sessionId);
  if (!found) return null;
  const { userId, role, teamId, expiresAt, confirmedUntil } = found;
  return {
    userId,
    role,
    teamId,
    via: 'session',
    own: teamId === null ? [userId] : [userId, teamId],
    scopes: SCOPES,
    keyId: null,
    sessionId,
    expiresAt,
    confirmedUntil,
  };
}

async function keyActor(text: string, { engine }: ApiContext): Promise<Actor | null> {
  const [, keyId, secret] = KEY.exec(text) ?? [];
  if (keyId === undefined || secret === undefined) return null;
  const found = await findKeyCaller(engine, keyId, secret);
  if (!found) return null;
  const { userId, role, teamId, expiresAt } = found;
  // The role may have been lowered since the key was created.
  const scopes = scopesOf(role).filter((scope) => found.scopes.includes(scope));
  return {
    userId,
    role,
    teamId,
    via: 'key',
    own: teamId === null ? [userId] : [userId, teamId],
    scopes,
    keyId,
    sessionId: null,
    expiresAt,
    confirmedUntil: null,
  };
}

async function refuseKeyInAddress(request: FastifyRequest, { engine }: ApiContext): Promise<void> {
  const values = Object.values((request.query ?? {}) as Record<string, unknown>).flat();
  const [, keyId, secret] = values.map((value) => KEY.exec(String(value))).find(Boolean) ?? [];
  if (keyId === undefined || secret === undefined) return;
  const by = { actor: 'nobody', requestId: request.id, address: request.ip };
  await reportExposedKey(engine, keyId, secret, by);
  throw new RowmillError(
    'UNAUTHENTICATED',
    'expected the API key in the header Authorization, got it in the URL',
  );
}

// First-run setup, sessions, users, teams and API keys. With authentication `none` there is only the local caller.
import type { accountRoutes } from '../../contract/accounts.ts';
import { maySeeAll, scopesOf } from '../../contract/permission.ts';
import type { AnswerOf } from '../../contract/route.ts';
import type { Scope } from '../../contract/scopes.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { changePassword } from '../../engine/accounts/change-password.ts';
import { changeUser } from '../../engine/accounts/change-user.ts';
import { confirmSession } from '../../engine/accounts/confirm-session.ts';
import { createKey } from '../../engine/accounts/create-key.ts';
import { createTeam } from '../../engine/accounts/create-team.ts';
import { createUser } from '../../engine/accounts/create-user.ts';
import { keyNotFound, revokeKey } from '../../engine/accounts/revoke-key.ts';
import { setUp } from '../../engine/accounts/set-up.ts';
import { signIn } from '../../engine/accounts/sign-in.ts';
import { signOut } from '../../engine/accounts/sign-out.ts';
import { HashQueueFullError } from '../../platform/password-hash.ts';
import { hashToken } from '../../platform/secret-token.ts';
import { type ListedKey, listKeys } from '../../store/views/accounts/list-keys.ts';
import { listTeams, type Team } from '../../store/views/accounts/list-teams.ts';
import { hasUsers, listUsers, type User } from '../../store/views/accounts/read-user.ts';
import { type Actor, checkConfirmed, listedFor } from '../requests/actor.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import type { ApiContext } from '../api-context.ts';
import { sessionActor } from '../requests/authenticate.ts';
import type { Handlers } from '../requests/handler.ts';
import { clearSessionCookie, readSessionCookie, setSessionCookie } from '../requests/session-cookie.ts';

type Session = AnswerOf<typeof accountRoutes.getSession>;

const handlers: Handlers<typeof accountRoutes> = {
  getSetup: async (_, { engine }) => ({
    needed: engine.settings.authentication === 'password' && !(await hasUsers(engine.db)),
  }),
  setUp: async ({ body, engine, reply }, context) => {
    const { token, tokenHash } = await setUp(engine, body);
    setSessionCookie(reply, engine.settings, token);
    return begunSession(tokenHash, context);
  },
  signIn: async ({ body, engine, raw, reply }, context) => {
    const before = readSessionCookie(raw, engine.settings);
    const signedIn = proven(
      await signIn(engine, { ...body, previous: before === null ? null : hashToken(before) }),
    );
    setSessionCookie(reply, engine.settings, signedIn.token);
    return begunSession(signedIn.tokenHash, context);
  },
  getSession: async ({ actor }) => toSession(actor),
  confirmSession: async ({ actor, body, engine }, context) => {
    const { sessionId: tokenHash, userId } = actor;
    if (tokenHash === null) throw new RowmillError('FORBIDDEN', 'expected a session, got an API key');
    proven(await confirmSession(engine, { userId, password: body.password, tokenHash }));
    return begunSession(tokenHash, context);
  },
  signOut: async ({ actor, engine, reply }) => {
    if (actor.sessionId) await signOut(engine, actor.sessionId);
    clearSessionCookie(reply, engine.settings);
    return undefined;
  },
  changePassword: async ({ actor, body, engine, reply }) => {
    const hasSession = actor.sessionId !== null;
    const { token } = proven(await changePassword(engine, { userId: actor.userId, ...body, hasSession }));
    if (token !== null) setSessionCookie(reply, engine.settings, token);
    return undefined;
  },
  listUsers: async ({ query, engine }) => ({ items: (await listUsers(engine.db, query.limit)).map(toUser) }),
  createUser: async ({ actor, body, engine }) => {
    checkConfirmed(actor);
    return toUser(await createUser(engine, { ...body, teamId: body.teamId ?? null }));
  },
  changeUser: async ({ actor, params, body, engine }) => {
    checkConfirmed(actor);
    return toUser(await changeUser(engine, params.userId, body));
  },
  listTeams: async ({ query, engine }) => ({ items: (await listTeams(engine.db, query.limit)).map(toTeam) }),
  createTeam: async ({ actor, body, engine }) => {
    checkConfirmed(actor);
    return toTeam(await createTeam(engine, body.teamId));
  },
  listKeys: async ({ actor, query, engine }) => {
    const everybody = listedFor(actor, query.all) === null;
    return { items: (await listKeys(engine.db, everybody ? null : actor.userId, query.limit)).map(toKey) };
  },
  createKey: async ({ actor, body, engine }) => {
    checkConfirmed(actor);
    const { userId } = actor;
    const scopes = [...new Set(body.scopes)];
    checkScopes(actor, scopes);
    const notAfter = actor.via === 'key' ? actor.expiresAt : null;
    const made = await createKey(engine, { ...body, scopes, userId, notAfter });
    const { key, keyId, createdAt, expiresAt } = made;
    const { name } = body;
    const unused = { lastUsedAt: null, revokedAt: null };
    return { ...toKey({ keyId, name, userId, scopes, createdAt, expiresAt, ...unused }), key };
  },
  revokeKey: async ({ actor, params, engine }) => {
    const { keyId } = params;
    // A key without the scope admin may not see other keys.
    if (!actor.scopes.includes('admin') && keyId !== actor.keyId) throw keyNotFound(keyId);
    await revokeKey(engine, keyId, maySeeAll(actor) ? null : [actor.userId]);
    return undefined;
  },
};

/** Retry-After when too many passwords wait to be hashed. */
const BUSY_MS = 5000;

/** Routes that work without accounts. */
const WITHOUT_ACCOUNTS: readonly string[] = ['getSetup', 'getSession', 'signOut'];

export const accountHandlers = Object.fromEntries(
  Object.entries(handlers).map(([name, handle]) => [
    name,
    WITHOUT_ACCOUNTS.includes(name) ? handle : onlyWithAccounts(handle as AnyHandler),
  ]),
) as unknown as Handlers<typeof accountRoutes>;

type AnyHandler = (request: unknown, context: ApiContext) => Promise<unknown>;

function onlyWithAccounts(handle: AnyHandler): AnyHandler {
  return async (request, context) => {
    if (context.engine.settings.authentication === 'none')
      throw new RowmillError('FEATURE_DISABLED', 'there are no accounts (authentication is none)');
    return handle(request, context).catch((error: unknown) => {
      throw error instanceof HashQueueFullError
        ? new RetryLaterError('RATE_LIMITED', error.message, BUSY_MS)
        : error;
    });
  };
}

function proven<Proof extends { kind: string }>(
  proof: Proof,
): Exclude<Proof, { kind: 'wrong' } | { kind: 'throttled' }> {
  if ('retryAfterMs' in proof)
    throw new RetryLaterError('SIGN_IN_THROTTLED', 'too many attempts', Number(proof.retryAfterMs));
  if (proof.kind === 'wrong') throw new RowmillError('SIGN_IN_FAILED', 'the name or the password is wrong');
  return proof as Exclude<Proof, { kind: 'wrong' } | { kind: 'throttled' }>;
}

async function begunSession(tokenHash: Buffer, context: ApiContext): Promise<Session> {
  const actor = await sessionActor(tokenHash, context);
  if (!actor) throw new RowmillError('UNAUTHENTICATED', 'the session has already ended');
  return toSession(actor);
}

/** A key has at most the scopes of its owner, and one created with a key at most those of that key. */
function checkScopes(actor: Actor, scopes: readonly Scope[]): void {
  const allowed = actor.via === 'key' ? actor.scopes : scopesOf(actor.role);
  const over = scopes.filter((scope) => !allowed.includes(scope));
  if (over.length > 0)
    throw new RowmillError(
      'FORBIDDEN',
      `a key of a caller with the role ${actor.role} cannot have the scope ${over.join(', ')}`,
    );
}

function toSession({ userId, role, teamId, via, scopes, expiresAt, confirmedUntil }: Actor): Session {
  return {
    userId,
    role,
    teamId,
    via,
    scopes: [...scopes],
    expiresAt: expiresAt?.toISOString() ?? null,
    confirmedUntil: confirmedUntil?.toISOString() ?? null,
  };
}

function toUser({ createdAt, lastSignInAt, ...user }: User) {
  return { ...user, createdAt: createdAt.toISOString(), lastSignInAt: lastSignInAt?.toISOString() ?? null };
}

function toTeam({ createdAt, ...team }: Team) {
  return { ...team, createdAt: createdAt.toISOString() };
}

function toKey(key: ListedKey) {
  const { createdAt, expiresAt, lastUsedAt, revokedAt } = key;
  return {
    ...key,
    scopes: key.scopes as Scope[],
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt?.toISOString() ?? null,
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    revokedAt: revokedAt?.toISOString() ?? null,
  };
}

// The caller of a request, and the owners whose things the caller may see.
import { maySeeAll, refusalOf } from '../../contract/permission.ts';
import type { Route } from '../../contract/route.ts';
import { SCOPES, type Scope } from '../../contract/scopes.ts';
import type { Role } from '../../core/accounts/role.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';

export interface Actor {
  userId: string;
  role: Role;
  teamId: string | null;
  via: 'session' | 'key' | 'none';
  /** Owners whose jobs are the caller's: the account itself, and its team. */
  own: readonly string[];
  /** Scopes of the key; all of them for a session. */
  scopes: readonly Scope[];
  keyId: string | null;
  /** Hash of the session token, as stored. */
  sessionId: Buffer | null;
  expiresAt: Date | null;
  confirmedUntil: Date | null;
}

/** The caller when authentication is `none`: the person at this machine. */
export const LOCAL_ACTOR: Actor = {
  userId: 'local',
  role: 'admin',
  teamId: null,
  via: 'none',
  own: ['local'],
  scopes: SCOPES,
  keyId: null,
  sessionId: null,
  expiresAt: null,
  confirmedUntil: null,
};

/** Owners whose things the caller may open by id; null for all owners. */
export function seenBy(actor: Actor): readonly string[] | null {
  return maySeeAll(actor) ? null : actor.own;
}

/** Owners whose things are listed: the caller's own, or null for all owners if an administrator asks for them. */
export function listedFor(actor: Actor, all: boolean | undefined): readonly string[] | null {
  if (!all) return actor.own;
  if (!maySeeAll(actor))
    throw new RowmillError(
      'FORBIDDEN',
      'listing all owners needs the role admin and, for an API key, the scope admin',
    );
  return null;
}

/** Default owner of everything the caller creates. */
export function ownerOf(actor: Actor): string {
  return actor.teamId ?? actor.userId;
}

/** Owner of a new job. */
export function chooseOwner(actor: Actor, wanted: string | undefined): string {
  if (wanted === undefined) return ownerOf(actor);
  if (maySeeAll(actor) || actor.own.includes(wanted)) return wanted;
  throw new RowmillError(
    'FORBIDDEN',
    `expected ownerId to be ${actor.own.join(' or ')}, got a different owner`,
  );
}

/** How the caller appears in the audit log. */
export function actorLabel(actor: Actor): string {
  if (actor.via === 'none') return 'local';
  return actor.via === 'key' ? `${actor.userId} with key ${actor.keyId}` : actor.userId;
}

/** Throws if the caller's role or key does not allow the route. */
export function checkAllowed(actor: Actor | null, route: Pick<Route, 'access' | 'scope'>): void {
  if (route.access === 'open') return;
  if (actor === null) throw new RowmillError('UNAUTHENTICATED', 'sign in, or send an API key');
  const refusal = refusalOf(actor, route);
  if (refusal?.lacks === 'role')
    throw new RowmillError('FORBIDDEN', `expected the role ${refusal.needed}, got ${actor.role}`);
  if (refusal)
    throw new RowmillError(
      'FORBIDDEN',
      `expected a key with the scope ${refusal.needed}, got ${actor.scopes.join(', ')}`,
    );
}

/** Actions that outlive a session need a password entered recently, not just the session. */
export function checkConfirmed({ via, confirmedUntil }: Actor): void {
  if (via === 'session' && confirmedUntil === null)
    throw new RowmillError('CONFIRMATION_REQUIRED', 'please confirm your password again');
}

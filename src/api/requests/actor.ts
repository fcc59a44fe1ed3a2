// Who sends a request, and what that lets them see.
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
  /** Hash of the session's token, as it is stored. */
  sessionId: Buffer | null;
  expiresAt: Date | null;
  confirmedUntil: Date | null;
}

/** The person at the machine, when there are no accounts. */
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

/** Owners whose things the caller may see by their id; null: everybody's. */
export function seenBy(actor: Actor): readonly string[] | null {
  return maySeeAll(actor) ? null : actor.own;
}

/** Owners whose things are listed: the caller's own, or everybody's where an admin asks for it. */
export function listedFor(actor: Actor, all: boolean | undefined): readonly string[] | null {
  if (!all) return actor.own;
  if (!maySeeAll(actor))
    throw new RowmillError(
      'FORBIDDEN',
      'expected the role admin, and the scope admin of an API key, for things of all owners',
    );
  return null;
}

/** Owner of what the caller makes. */
export function ownerOf(actor: Actor): string {
  return actor.teamId ?? actor.userId;
}

/** Whose a new job is. */
export function chooseOwner(actor: Actor, wanted: string | undefined): string {
  if (wanted === undefined) return ownerOf(actor);
  if (maySeeAll(actor) || actor.own.includes(wanted)) return wanted;
  throw new RowmillError('FORBIDDEN', `expected ownerId to be ${actor.own.join(' or ')}, got another one`);
}

/** As it stands in the audit. */
export function actorLabel(actor: Actor): string {
  if (actor.via === 'none') return 'local';
  return actor.via === 'key' ? `${actor.userId} with key ${actor.keyId}` : actor.userId;
}

/** Refuses what the role or the key does not allow. */
export function checkAllowed(actor: Actor | null, route: Pick<Route, 'access' | 'scope'>): void {
  if (route.access === 'open') return;
  if (actor === null)
    throw new RowmillError('UNAUTHENTICATED', 'expected somebody to be signed in, or an API key');
  const refusal = refusalOf(actor, route);
  if (refusal?.lacks === 'role')
    throw new RowmillError('FORBIDDEN', `expected the role ${refusal.needed}, the caller is ${actor.role}`);
  if (refusal)
    throw new RowmillError(
      'FORBIDDEN',
      `expected a key with the scope ${refusal.needed}, got ${actor.scopes.join(', ')}`,
    );
}

/** A session alone is not enough for what outlives it: the password was given a short while ago. */
export function checkConfirmed({ via, confirmedUntil }: Actor): void {
  if (via === 'session' && confirmedUntil === null)
    throw new RowmillError('CONFIRMATION_REQUIRED', 'the password was given too long ago for this');
}

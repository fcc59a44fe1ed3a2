// Decides from the route table who may call which route. The server enforces it, and the page uses it to show what
// the server would allow.
import type { Role } from '../core/accounts/role.ts';
import type { Access, Route } from './route.ts';
import { SCOPES, type Scope } from './scopes.ts';

export interface Caller {
  role: Role;
  /** Scopes of the key; all scopes for a session. */
  scopes: readonly Scope[];
}

export type Refusal = { lacks: 'role'; needed: Access } | { lacks: 'scope'; needed: Scope };

const RANK: Record<Access, number> = { open: 0, viewer: 1, member: 2, admin: 3 };

const SCOPES_OF: Record<Role, readonly Scope[]> = {
  viewer: ['read', 'export'],
  member: ['read', 'write', 'export'],
  admin: SCOPES,
};

/** The role or scope that the caller lacks for a route; null if nothing is missing. */
export function refusalOf(caller: Caller, route: Pick<Route, 'access' | 'scope'>): Refusal | null {
  if (route.access === 'open') return null;
  if (RANK[caller.role] < RANK[route.access]) return { lacks: 'role', needed: route.access };
  if (route.scope !== 'any' && !caller.scopes.includes(route.scope))
    return { lacks: 'scope', needed: route.scope };
  return null;
}

/** Scopes that an API key may have, by the role of its account. */
export function scopesOf(role: Role): readonly Scope[] {
  return SCOPES_OF[role];
}

/** Only administrators see data of other owners; an administrator's API key needs the scope `admin` for it. */
export function maySeeAll({ role, scopes }: Caller): boolean {
  return role === 'admin' && scopes.includes('admin');
}

// Who may ask for what, decided from the route table. The server refuses by it, and the page shows by it what the server
// would do.
import type { Role } from '../core/accounts/role.ts';
import type { Access, Route } from './route.ts';
import { SCOPES, type Scope } from './scopes.ts';

export interface Caller {
  role: Role;
  /** Of the key; all of them for a session. */
  scopes: readonly Scope[];
}

export type Refusal = { lacks: 'role'; needed: Access } | { lacks: 'scope'; needed: Scope };

const RANK: Record<Access, number> = { open: 0, viewer: 1, member: 2, admin: 3 };

const SCOPES_OF: Record<Role, readonly Scope[]> = {
  viewer: ['read', 'export'],
  member: ['read', 'write', 'export'],
  admin: SCOPES,
};

/** What somebody lacks for a route; null: nothing. */
export function refusalOf(caller: Caller, route: Pick<Route, 'access' | 'scope'>): Refusal | null {
  if (route.access === 'open') return null;
  if (RANK[caller.role] < RANK[route.access]) return { lacks: 'role', needed: route.access };
  if (route.scope !== 'any' && !caller.scopes.includes(route.scope))
    return { lacks: 'scope', needed: route.scope };
  return null;
}

/** What a key of somebody with this role may be for. */
export function scopesOf(role: Role): readonly Scope[] {
  return SCOPES_OF[role];
}

/** Things of other owners are for administrators; an API key of one needs the scope `admin` for them. */
export function maySeeAll({ role, scopes }: Caller): boolean {
  return role === 'admin' && scopes.includes('admin');
}

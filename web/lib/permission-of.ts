// What the server would let a caller do, for the page: nothing is offered that it would refuse.
import { type Caller, maySeeAll, refusalOf, scopesOf } from '../../src/contract/permission.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import type { Scope } from '../../src/contract/scopes.ts';

export interface Permission {
  /** Whether none of these would be refused. */
  can: (...routes: readonly RouteName[]) => boolean;
  /** Why one of them would be, as a sentence; null: none would. */
  whyNot: (...routes: readonly RouteName[]) => string | null;
  /** Whether things of everybody can be listed, where there is more than one person. */
  seesAll: boolean;
  /** What a new API key may be for. */
  keyScopes: readonly Scope[];
}

/** Of nobody: nothing. */
export function permissionOf(
  session: (Caller & { via: 'session' | 'key' | 'none' }) | undefined,
): Permission {
  const whyNot = (...routes: readonly RouteName[]): string | null => {
    if (!session) return "You're not signed in.";
    for (const name of routes) {
      const refusal = refusalOf(session, ROUTES[name]);
      if (refusal?.lacks === 'role')
        return `You're a ${session.role}. Ask an admin for the ${refusal.needed} role to do this.`;
      if (refusal) return `This API key is missing the scope ${refusal.needed}.`;
    }
    return null;
  };
  return {
    can: (...routes) => whyNot(...routes) === null,
    whyNot,
    seesAll: session !== undefined && session.via !== 'none' && maySeeAll(session),
    keyScopes: !session ? [] : session.via === 'key' ? session.scopes : scopesOf(session.role),
  };
}

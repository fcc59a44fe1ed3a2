// Permissions of the user, decided by the same route table as on the server: the page offers nothing that the server
// would refuse.
import { type Caller, maySeeAll, refusalOf, scopesOf } from '../../src/contract/permission.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import type { Scope } from '../../src/contract/scopes.ts';

export interface Permission {
  /** Whether the server would allow all of these routes. */
  can: (...routes: readonly RouteName[]) => boolean;
  /** The reason for a refusal, as a sentence. Null: all are allowed. */
  whyNot: (...routes: readonly RouteName[]) => string | null;
  /** Whether the user can list everyone's jobs, keys and webhooks. */
  seesAll: boolean;
  /** Scopes that a new API key can have. */
  keyScopes: readonly Scope[];
}

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

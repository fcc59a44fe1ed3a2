// The page offers a role or key exactly the routes that the server allows it.
import { describe, expect, test } from 'vitest';
import { checkAllowed, LOCAL_ACTOR } from '../../src/api/requests/actor.ts';
import { ROUTES, type RouteName } from '../../src/contract/routes.ts';
import { SCOPES } from '../../src/contract/scopes.ts';
import { ROLES } from '../../src/core/accounts/role.ts';
import { permissionOf } from '../../web/lib/permission-of.ts';

describe('the actions of the page', () => {
  const callers = ROLES.flatMap((role) => [
    { role, scopes: SCOPES, via: 'session' as const },
    ...SCOPES.map((scope) => ({ role, scopes: [scope], via: 'key' as const })),
  ]);
  test.each(callers)('for $role with $scopes are those that the server allows', (caller) => {
    const { can } = permissionOf(caller);
    for (const name of Object.keys(ROUTES) as RouteName[]) {
      const check = () => checkAllowed({ ...LOCAL_ACTOR, ...caller }, ROUTES[name]);
      if (can(name)) expect(check, name).not.toThrow();
      else expect(check, name).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }));
    }
  });
});

test('explains a missing permission, and who can grant it', () => {
  const viewer = permissionOf({ role: 'viewer', scopes: SCOPES, via: 'session' });
  expect(viewer.whyNot('listJobs', 'createJob')).toBe(
    "You're a viewer. Ask an admin for the member role to do this.",
  );
  expect(viewer.whyNot('listJobs', 'exportJob')).toBeNull();
  const reader = permissionOf({ role: 'member', scopes: ['read'], via: 'key' });
  expect(reader.whyNot('exportJob')).toContain('is missing the scope export');
});

test('offers nothing without a session, and all owners only if there are others', () => {
  expect(permissionOf(undefined).can('listJobs')).toBe(false);
  expect(permissionOf({ role: 'admin', scopes: SCOPES, via: 'session' }).seesAll).toBe(true);
  expect(permissionOf({ role: 'member', scopes: SCOPES, via: 'session' }).seesAll).toBe(false);
  expect(permissionOf({ role: 'admin', scopes: SCOPES, via: 'none' }).seesAll).toBe(false);
});

test('offers the scopes for a new key that the server allows', () => {
  expect(permissionOf({ role: 'viewer', scopes: SCOPES, via: 'session' }).keyScopes).toEqual([
    'read',
    'export',
  ]);
  expect(permissionOf({ role: 'admin', scopes: ['read', 'admin'], via: 'key' }).keyScopes).toEqual([
    'read',
    'admin',
  ]);
});

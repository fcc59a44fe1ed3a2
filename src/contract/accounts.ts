// Accounts: first-run setup, sign-in, users, teams, API keys.
import { z } from 'zod';
import { ROLES } from '../core/accounts/role.ts';
import { defineRoutes } from './route.ts';
import { SCOPES } from './scopes.ts';
import { flag, pageOf, shortPage, time } from './values.ts';

export const role = z.enum(ROLES);

/** Name of an account or team. Jobs store it as their owner, so it never changes. */
export const accountName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{1,59}$/,
    'expected 2 to 60 lower-case letters, digits, dots, dashes or underscores',
  );
/** The leading @ distinguishes teams from accounts. */
export const teamId = z
  .string()
  .regex(
    /^@[a-z0-9][a-z0-9._-]{1,59}$/,
    'expected @ and 2 to 60 lower-case letters, digits, dots, dashes or underscores',
  );
const password = z.string().min(12).max(256);

export const user = z
  .object({
    userId: z.string(),
    role,
    teamId: z.string().nullable(),
    disabled: z.boolean(),
    createdAt: time,
    lastSignInAt: time.nullable(),
  })
  .meta({ id: 'User' });

export const session = z
  .object({
    userId: z.string(),
    role,
    teamId: z.string().nullable(),
    /** How the caller was authenticated. */
    via: z.enum(['session', 'key', 'none']),
    scopes: z.array(z.enum(SCOPES)),
    expiresAt: time.nullable(),
    /** Actions that need a recent password are allowed until this time. */
    confirmedUntil: time.nullable(),
  })
  .meta({ id: 'Session' });

export const apiKey = z
  .object({
    keyId: z.string(),
    name: z.string(),
    userId: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    createdAt: time,
    expiresAt: time.nullable(),
    lastUsedAt: time.nullable(),
    revokedAt: time.nullable(),
  })
  .meta({ id: 'ApiKey' });

export const team = z
  .object({ teamId: z.string(), members: z.array(z.string()), createdAt: time })
  .meta({ id: 'Team' });

/** Without accounts, the only user is the person at this machine. */
const NO_ACCOUNTS = ['FEATURE_DISABLED'] as const;
const own = { access: 'viewer', scope: 'admin' } as const;
const admin = { access: 'admin', scope: 'admin' } as const;
const userParams = z.object({ userId: accountName });
const keyParams = z.object({ keyId: z.string().regex(/^[0-9a-f]{16}$/, 'expected 16 hexadecimal digits') });

export const accountRoutes = defineRoutes({
  getSetup: {
    method: 'GET',
    path: '/api/setup',
    summary: 'Whether the first account still has to be created.',
    access: 'open',
    scope: 'read',
    answer: { status: 200, schema: z.object({ needed: z.boolean() }) },
  },
  setUp: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/setup',
    summary: 'Create the first account, with the setup token from the server log.',
    access: 'open',
    scope: 'admin',
    body: z.strictObject({ token: z.string().min(1).max(200), userId: accountName, password }),
    answer: { status: 201, schema: session },
    errors: [...NO_ACCOUNTS, 'SETUP_DONE', 'SETUP_TOKEN_WRONG', 'ACCOUNT_CONFLICT', 'PASSWORD_WEAK'],
  },
  signIn: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/session',
    summary: 'Sign in. The session is stored in a cookie.',
    access: 'open',
    scope: 'read',
    body: z.strictObject({ userId: z.string().min(1).max(200), password: z.string().min(1).max(256) }),
    answer: { status: 200, schema: session },
    errors: [...NO_ACCOUNTS, 'SIGN_IN_FAILED', 'SIGN_IN_THROTTLED'],
  },
  getSession: {
    method: 'GET',
    path: '/api/session',
    summary: 'The current caller.',
    access: 'viewer',
    scope: 'read',
    answer: { status: 200, schema: session },
  },
  confirmSession: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/session/confirm',
    summary: 'Confirm the password, for actions that need a recent one.',
    ...own,
    body: z.strictObject({ password: z.string().min(1).max(256) }),
    answer: { status: 200, schema: session },
    errors: [...NO_ACCOUNTS, 'SIGN_IN_FAILED', 'SIGN_IN_THROTTLED'],
  },
  signOut: {
    method: 'DELETE',
    path: '/api/session',
    summary: 'Sign out and end the session.',
    access: 'viewer',
    scope: 'read',
    answer: { status: 204, schema: null },
  },
  changePassword: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/account/password',
    summary: 'Change your password. All other sessions end; revokeKeys also revokes all API keys.',
    ...own,
    body: z.strictObject({
      current: z.string().min(1).max(256),
      password,
      revokeKeys: z.boolean().optional(),
    }),
    answer: { status: 204, schema: null },
    errors: [...NO_ACCOUNTS, 'SIGN_IN_FAILED', 'SIGN_IN_THROTTLED', 'PASSWORD_WEAK'],
  },
  listUsers: {
    method: 'GET',
    path: '/api/users',
    summary: 'User accounts.',
    ...admin,
    query: z.strictObject(shortPage),
    pagedBy: ['userId'],
    answer: { status: 200, schema: pageOf(user) },
    errors: [...NO_ACCOUNTS, 'CURSOR_INVALID'],
  },
  createUser: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/users',
    summary: 'Create a user account.',
    ...admin,
    body: z.strictObject({
      userId: accountName,
      password,
      role: role.default('member'),
      teamId: teamId.nullable().optional(),
    }),
    answer: { status: 201, schema: user },
    errors: [...NO_ACCOUNTS, 'ACCOUNT_CONFLICT', 'TEAM_NOT_FOUND', 'PASSWORD_WEAK', 'CONFIRMATION_REQUIRED'],
  },
  changeUser: {
    method: 'PATCH',
    path: '/api/users/:userId',
    summary:
      'Change role, team or password, or disable an account, which ends its sessions, keys and webhooks immediately.',
    ...admin,
    params: userParams,
    body: z.strictObject({
      role: role.optional(),
      teamId: teamId.nullable().optional(),
      disabled: z.boolean().optional(),
      password: password.optional(),
      /** Also revokes the account's API keys, for a password that may have leaked. */
      revokeKeys: z.boolean().optional(),
    }),
    answer: { status: 200, schema: user },
    errors: [
      ...NO_ACCOUNTS,
      'ACCOUNT_NOT_FOUND',
      'TEAM_NOT_FOUND',
      'LAST_ADMIN',
      'PASSWORD_WEAK',
      'CONFIRMATION_REQUIRED',
    ],
  },
  listTeams: {
    method: 'GET',
    path: '/api/teams',
    summary: 'Teams and their members.',
    ...admin,
    query: z.strictObject(shortPage),
    pagedBy: ['teamId'],
    answer: { status: 200, schema: pageOf(team) },
    errors: [...NO_ACCOUNTS, 'CURSOR_INVALID'],
  },
  createTeam: {
    method: 'POST',
    path: '/api/teams',
    summary: 'Create a team. Its members share its jobs.',
    ...admin,
    body: z.strictObject({ teamId }),
    answer: { status: 201, schema: team },
    errors: [...NO_ACCOUNTS, 'ACCOUNT_CONFLICT', 'CONFIRMATION_REQUIRED'],
  },
  listKeys: {
    method: 'GET',
    path: '/api/keys',
    summary: 'API keys of the caller; with all=true (admins only) of all accounts.',
    ...own,
    query: z.strictObject({ all: flag.optional(), ...shortPage }),
    pagedBy: ['keyId'],
    answer: { status: 200, schema: pageOf(apiKey) },
    errors: [...NO_ACCOUNTS, 'FORBIDDEN', 'CURSOR_INVALID'],
  },
  createKey: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/keys',
    summary: 'Create an API key. The key is shown only once.',
    ...own,
    body: z.strictObject({
      name: z.string().trim().min(1).max(100),
      scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).default(['read']),
      /** Days until the key expires; null for never. */
      days: z.number().int().min(1).max(3650).nullable().default(90),
    }),
    answer: { status: 201, schema: apiKey.extend({ key: z.string() }) },
    errors: [...NO_ACCOUNTS, 'FORBIDDEN', 'CONFIRMATION_REQUIRED', 'QUOTA_EXCEEDED'],
  },
  revokeKey: {
    method: 'DELETE',
    path: '/api/keys/:keyId',
    summary: 'Revoke an API key. A key without the admin scope can revoke only itself.',
    access: 'viewer',
    scope: 'any',
    params: keyParams,
    answer: { status: 204, schema: null },
    errors: [...NO_ACCOUNTS, 'KEY_NOT_FOUND'],
  },
});

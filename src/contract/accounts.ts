// Who uses it: first-run setup, signing in, people, teams, API keys.
import { z } from 'zod';
import { ROLES } from '../core/accounts/role.ts';
import { defineRoutes } from './route.ts';
import { SCOPES } from './scopes.ts';
import { flag, pageOf, shortPage, time } from './values.ts';

export const role = z.enum(ROLES);

/** Name of an account or team; jobs carry it as their owner, so it never changes. */
export const accountName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{1,59}$/,
    'expected 2 to 60 lower-case letters, digits, dots, dashes or underscores',
  );
/** Teams are told from people by the sign in front. */
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
    /** How the caller is known. */
    via: z.enum(['session', 'key', 'none']),
    scopes: z.array(z.enum(SCOPES)),
    expiresAt: time.nullable(),
    /** Until when things that need the password again are allowed. */
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

/** Without accounts there is only the person at the machine. */
const NO_ACCOUNTS = ['FEATURE_DISABLED'] as const;
const own = { access: 'viewer', scope: 'admin' } as const;
const admin = { access: 'admin', scope: 'admin' } as const;
const userParams = z.object({ userId: accountName });
const keyParams = z.object({ keyId: z.string().regex(/^[0-9a-f]{16}$/, 'expected 16 hexadecimal digits') });

export const accountRoutes = defineRoutes({
  getSetup: {
    method: 'GET',
    path: '/api/setup',
    summary: 'Whether the first account has still to be made.',
    access: 'open',
    scope: 'read',
    answer: { status: 200, schema: z.object({ needed: z.boolean() }) },
  },
  setUp: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/setup',
    summary: 'Make the first account, with the token that the server wrote to its log.',
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
    summary: 'Sign in; the session is a cookie.',
    access: 'open',
    scope: 'read',
    body: z.strictObject({ userId: z.string().min(1).max(200), password: z.string().min(1).max(256) }),
    answer: { status: 200, schema: session },
    errors: [...NO_ACCOUNTS, 'SIGN_IN_FAILED', 'SIGN_IN_THROTTLED'],
  },
  getSession: {
    method: 'GET',
    path: '/api/session',
    summary: 'Who is asking.',
    access: 'viewer',
    scope: 'read',
    answer: { status: 200, schema: session },
  },
  confirmSession: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/session/confirm',
    summary: 'Give the password again, before something that needs it.',
    ...own,
    body: z.strictObject({ password: z.string().min(1).max(256) }),
    answer: { status: 200, schema: session },
    errors: [...NO_ACCOUNTS, 'SIGN_IN_FAILED', 'SIGN_IN_THROTTLED'],
  },
  signOut: {
    method: 'DELETE',
    path: '/api/session',
    summary: 'End the session.',
    access: 'viewer',
    scope: 'read',
    answer: { status: 204, schema: null },
  },
  changePassword: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/account/password',
    summary: 'Change the own password; all other sessions end, with revokeKeys also all API keys.',
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
    summary: 'People.',
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
    summary: 'Add somebody.',
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
      'Change role, team or password, or disable somebody: their sessions, keys and webhooks end at once.',
    ...admin,
    params: userParams,
    body: z.strictObject({
      role: role.optional(),
      teamId: teamId.nullable().optional(),
      disabled: z.boolean().optional(),
      password: password.optional(),
      /** Revokes the account's API keys, as for a password that somebody else may know. */
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
    summary: 'Add a team; its members share its jobs.',
    ...admin,
    body: z.strictObject({ teamId }),
    answer: { status: 201, schema: team },
    errors: [...NO_ACCOUNTS, 'ACCOUNT_CONFLICT', 'CONFIRMATION_REQUIRED'],
  },
  listKeys: {
    method: 'GET',
    path: '/api/keys',
    summary: 'API keys of the caller; for admins with all=true of everybody.',
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
    summary: 'Make an API key. Its text is shown this once.',
    ...own,
    body: z.strictObject({
      name: z.string().trim().min(1).max(100),
      scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).default(['read']),
      /** Days until it ends; null: never. */
      days: z.number().int().min(1).max(3650).nullable().default(90),
    }),
    answer: { status: 201, schema: apiKey.extend({ key: z.string() }) },
    errors: [...NO_ACCOUNTS, 'FORBIDDEN', 'CONFIRMATION_REQUIRED', 'QUOTA_EXCEEDED'],
  },
  revokeKey: {
    method: 'DELETE',
    path: '/api/keys/:keyId',
    summary: 'Revoke an API key. A key without the scope admin can revoke only itself.',
    access: 'viewer',
    scope: 'any',
    params: keyParams,
    answer: { status: 204, schema: null },
    errors: [...NO_ACCOUNTS, 'KEY_NOT_FOUND'],
  },
});

// Inserts accounts, sessions and keys as rows, without the half second of a real password hash.
import type { Role } from '../../src/core/accounts/role.ts';
import { hashPassword } from '../../src/platform/password-hash.ts';
import { hashToken, newKeyId, newToken } from '../../src/platform/secret-token.ts';
import type { TestDatabase } from './test-database.ts';

export const PASSWORD = 'quiet harbour lantern';
const QUICK_LOG_N = 10;

export async function addTeam(database: TestDatabase, teamId: string): Promise<void> {
  await database.query('insert into teams (team_id) values ($1) on conflict do nothing', [teamId]);
}

export async function addUser(
  database: TestDatabase,
  userId: string,
  { role = 'member', teamId = null }: { role?: Role; teamId?: string | null } = {},
): Promise<void> {
  await database.query('insert into users (user_id, role, team_id, password_hash) values ($1, $2, $3, $4)', [
    userId,
    role,
    teamId,
    await hashPassword(PASSWORD, QUICK_LOG_N),
  ]);
}

/** Headers of a signed-in user, on our own page. */
export async function sessionHeaders(
  database: TestDatabase,
  userId: string,
): Promise<{ cookie: string; 'sec-fetch-site': string }> {
  const token = newToken();
  await database.query(
    `insert into sessions (token_hash, user_id, expires_at) values ($1, $2, now() + interval '1 hour')`,
    [hashToken(token), userId],
  );
  return { cookie: `rowmill_session=${token}`, 'sec-fetch-site': 'same-origin' };
}

export async function keyHeaders(
  database: TestDatabase,
  userId: string,
  scopes: readonly string[],
): Promise<{ authorization: string }> {
  const [keyId, secret] = [newKeyId(), newToken()];
  await database.query(
    `insert into api_keys (key_id, secret_hash, user_id, name, scopes) values ($1, $2, $3, 'test', $4)`,
    [keyId, hashToken(secret), userId, scopes],
  );
  return { authorization: `Bearer rmk_${keyId}_${secret}` };
}

// Chooses where a command runs: the server or database that was named, else the server of the last login, else the
// embedded database in the current folder.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { withoutTrailing } from '../../core/files/without-trailing.ts';
import { apiFromEnvironment, databaseUrlFromEnvironment } from '../../platform/environment.ts';
import type { ServerOptions } from '../open-server.ts';
import { readLogins } from './stored-login.ts';

export interface TargetOptions extends ServerOptions {
  /** Commander's --api. */
  api?: string;
}

export type Target =
  | { kind: 'database'; because: string }
  | { kind: 'api'; url: string; apiKey: string | undefined; because: string };

export function chooseTarget(options: TargetOptions): Target {
  const direct = options.databaseUrl !== undefined ? '--database-url' : options.dataDir && '--data-dir';
  if (options.api !== undefined) {
    if (!direct) return apiAt(options.api, 'from --api');
    throw new RowmillError('SETTINGS_INVALID', `expected --api or ${direct}, got both`, {
      hint: 'A command uses either a server or the database.',
    });
  }
  if (direct) return { kind: 'database', because: `from ${direct}` };
  if (databaseUrlFromEnvironment()) return { kind: 'database', because: 'from DATABASE_URL' };
  const { url } = apiFromEnvironment();
  if (url !== undefined) return apiAt(url, 'from ROWMILL_API');
  const { current } = readLogins();
  if (current !== null) return apiAt(current, 'from rowmill login');
  return { kind: 'database', because: 'no server was named and no login is stored' };
}

/** ROWMILL_API_KEY is only sent to the server of ROWMILL_API, or to any server if ROWMILL_API is not set. */
function apiAt(given: string, because: string): Extract<Target, { kind: 'api' }> {
  const url = normalizeUrl(given);
  const { url: known, key } = apiFromEnvironment();
  const isKnown = known === undefined || normalizeUrl(known) === url;
  const apiKey = (isKnown ? key : undefined) ?? readLogins().servers[url]?.apiKey ?? undefined;
  return { kind: 'api', url, apiKey, because };
}

/** The form of the address under which logins are stored. */
export function normalizeUrl(given: string): string {
  const text = /^[a-z]+:\/\//i.test(given) ? given : `http${isLocal(given) ? '' : 's'}://${given}`;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalid(given);
  }
  if (!/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') throw invalid(given);
  return url.origin + withoutTrailing(url.pathname, '/');
}

function isLocal(address: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(address);
}

function invalid(given: string): RowmillError {
  return new RowmillError(
    'SETTINGS_INVALID',
    `expected the address of a server such as https://rowmill.example.com, got ${given.replace(/\/\/[^@/]*@/, '//')}`,
    { hint: 'Do not put a key into the address. Sign in with: rowmill login' },
  );
}

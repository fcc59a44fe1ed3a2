// Where a command goes: to the server that was named, to the database that was named, to the server somebody signed in
// to, else to the database in the folder.
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
    if (!direct) return apiAt(options.api, 'by --api');
    throw new RowmillError('SETTINGS_INVALID', `expected --api or ${direct}, got both`, {
      hint: 'A command speaks to a server, or works on the database itself.',
    });
  }
  if (direct) return { kind: 'database', because: `by ${direct}` };
  if (databaseUrlFromEnvironment()) return { kind: 'database', because: 'by DATABASE_URL' };
  const { url } = apiFromEnvironment();
  if (url !== undefined) return apiAt(url, 'by ROWMILL_API');
  const { current } = readLogins();
  if (current !== null) return apiAt(current, 'by rowmill login');
  return { kind: 'database', because: 'no server was named and nobody is signed in' };
}

/** The key of the environment belongs to the server of the environment, and to one that is named without a login. */
function apiAt(given: string, because: string): Extract<Target, { kind: 'api' }> {
  const url = normalizeUrl(given);
  const { url: known, key } = apiFromEnvironment();
  const isKnown = known === undefined || normalizeUrl(known) === url;
  const apiKey = (isKnown ? key : undefined) ?? readLogins().servers[url]?.apiKey ?? undefined;
  return { kind: 'api', url, apiKey, because };
}

/** The address as logins are stored by it. */
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
    { hint: 'A key is never part of the address: rowmill login' },
  );
}

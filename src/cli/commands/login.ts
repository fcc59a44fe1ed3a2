// rowmill login and logout: stores a key for a server, created with a password or given, for later commands.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { createClient } from '../../client/create-client.ts';
import { RowmillApiError } from '../../client/rowmill-api-error.ts';
import type { Scope } from '../../contract/scopes.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { apiFromEnvironment } from '../../platform/environment.ts';
import { ask, askSecret, isAtTerminal, readStandardInput } from '../ask.ts';
import { currentAccount } from '../current-account.ts';
import { noteOrigin } from '../error-origin.ts';
import { printable } from '../progress-lines.ts';
import { normalizeUrl } from '../remote/choose-target.ts';
import { clientOf } from '../remote/client-of.ts';
import { credentialsPath, forgetLogin, type Login, readLogins, storeLogin } from '../remote/stored-login.ts';

const DEFAULT_URL = 'http://127.0.0.1:4180';
const KEY_REVOKED = '; the key is revoked';

export interface LoginOptions {
  keyFile?: string;
  user?: string;
  scopes?: string[];
  days?: number;
  json?: boolean;
}

export async function login(given: string | undefined, options: LoginOptions): Promise<number> {
  const url = normalizeUrl(given ?? apiFromEnvironment().url ?? readLogins().current ?? DEFAULT_URL);
  return noteOrigin(`server ${url}`, async () => {
    if (new URL(url).protocol === 'http:' && !isLoopback(url))
      console.error('note: without https, anyone on the network can read the key');
    const stored =
      (await withoutKey(url)) ?? (await withKey(url, options)) ?? (await withPassword(url, options));
    storeLogin(url, stored);
    const { userId, keyId } = stored;
    if (options.json) console.log(JSON.stringify({ url, userId, keyId }));
    else
      console.log(
        `Signed in to ${url} as ${printable(stored.userId)}; ${stored.apiKey === null ? 'the server needs no key' : `the key is stored in ${credentialsPath()}`}`,
      );
    return 0;
  });
}

/** Succeeds on a server without accounts, such as that of rowmill dev. */
async function withoutKey(url: string): Promise<Login | null> {
  try {
    const { via, userId } = await clientOf({ url, apiKey: undefined }).getSession();
    return via === 'none' ? { apiKey: null, userId, keyId: null } : null;
  } catch (error) {
    if (error instanceof RowmillApiError && error.status === 401) return null;
    throw error;
  }
}

async function withKey(url: string, { keyFile, user }: LoginOptions): Promise<Login | null> {
  let text: string;
  if (keyFile !== undefined) text = readKeyFile(keyFile);
  else if (user === undefined && !isAtTerminal()) text = await readStandardInput();
  else return null;
  const apiKey = text.trim();
  if (!/^rmk_[^\s]+$/.test(apiKey))
    throw new RowmillError('UNAUTHENTICATED', 'expected an API key that begins with rmk_', {
      hint: 'Pass it in a file (--key-file) or on standard input.',
    });
  const { userId } = await clientOf({ url, apiKey }).getSession();
  return { apiKey, userId, keyId: null };
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new RowmillError('FILE_INVALID', `cannot read ${path}: ${(cause as Error).message}`, { cause });
  }
}

/** Signs in, creates a key and signs out again. */
async function withPassword(url: string, options: LoginOptions): Promise<Login> {
  const userId = options.user ?? (await ask('User: '));
  const password = isAtTerminal() ? await askSecret('Password: ') : (await readStandardInput()).trimEnd();
  let cookie = '';
  const origin = new URL(url).origin;
  const nobody = createClient({ baseUrl: url, headers: { origin } });
  const { role } = await nobody.signIn(
    { userId, password },
    {
      onAnswer: ({ headers }) => {
        cookie = headers
          .getSetCookie()
          .map((each) => each.split(';', 1)[0]!)
          .join('; ');
      },
    },
  );
  const client = createClient({ baseUrl: url, headers: { origin, cookie } });
  try {
    const made = await client.createKey({
      name: `command line of ${currentAccount()} on ${hostname()}`.slice(0, 100),
      // Viewers cannot have a key with the scope write.
      scopes: (options.scopes ??
        (role === 'viewer' ? ['read', 'export'] : ['read', 'write', 'export'])) as Scope[],
      days: options.days ?? 90,
    });
    return { apiKey: made.key, userId: made.userId, keyId: made.keyId };
  } finally {
    // Only the key is needed from now on.
    await client.signOut().catch(() => {});
  }
}

export async function logout(given: string | undefined, { json }: { json?: boolean }): Promise<number> {
  const { current, servers } = readLogins();
  const url = given === undefined ? current : normalizeUrl(given);
  const stored = url === null ? undefined : servers[url];
  if (url === null || !stored) {
    if (json) console.log(JSON.stringify({ url, signedOut: false, keyRevoked: false }));
    else console.log(url === null ? 'Not signed in' : `Not signed in to ${url}`);
    return 0;
  }
  const ended = await endKey(url, stored);
  forgetLogin(url);
  if (json) console.log(JSON.stringify({ url, signedOut: true, keyRevoked: ended === KEY_REVOKED }));
  else console.log(`Signed out of ${url}${ended}`);
  return 0;
}

/** Revokes the key that `login` created. A server that cannot be reached does not prevent signing out. */
async function endKey(url: string, { apiKey, keyId }: Login): Promise<string> {
  if (apiKey === null) return '';
  // Other programs may use a key that was passed in.
  if (keyId === null) return '; the key was not created by login and stays valid';
  try {
    await createClient({ baseUrl: url, apiKey, maxRetries: 0 }).revokeKey({ keyId });
    return KEY_REVOKED;
  } catch (error) {
    const reason = error instanceof Error ? printable(error.message) : String(error);
    return `; the key ${keyId} could not be revoked (${reason}) and is valid until it expires`;
  }
}

function isLoopback(url: string): boolean {
  return /^(localhost|127\..*|\[::1\])$/.test(new URL(url).hostname);
}

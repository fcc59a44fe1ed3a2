// Keys that `rowmill login` made, by server, in a file that only its owner can read.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { RowmillError } from '../../core/rowmill-error.ts';
import { configHomeFromEnvironment } from '../../platform/environment.ts';

const login = z.object({
  /** Null: the server asks nobody who they are. */
  apiKey: z.string().nullable(),
  userId: z.string(),
  /** Null: the key was given, not made here. */
  keyId: z.string().nullable(),
});
const credentials = z.object({
  /** Where commands go that are not told where. */
  current: z.string().nullable(),
  servers: z.record(z.string(), login),
});

export type Login = z.infer<typeof login>;
type Credentials = z.infer<typeof credentials>;

export function credentialsPath(): string {
  return join(configHomeFromEnvironment() ?? join(homedir(), '.config'), 'rowmill', 'credentials.json');
}

export function readLogins(): Credentials {
  let text: string;
  try {
    text = readFileSync(credentialsPath(), 'utf8');
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return { current: null, servers: {} };
    throw unreadable((error as Error).message);
  }
  try {
    return credentials.parse(JSON.parse(text));
  } catch {
    throw unreadable('it is not what rowmill login writes');
  }
}

export function storeLogin(url: string, stored: Login): void {
  const { servers } = readLogins();
  write({ current: url, servers: { ...servers, [url]: stored } });
}

export function forgetLogin(url: string): void {
  const { current, servers } = readLogins();
  const { [url]: _, ...rest } = servers;
  if (Object.keys(rest).length === 0) return rmSync(credentialsPath(), { force: true });
  write({ current: current === url ? null : current, servers: rest });
}

/** The file is never there half, nor readable by others for a moment. */
function write(logins: Credentials): void {
  const path = credentialsPath();
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.new`;
  rmSync(next, { force: true });
  writeFileSync(next, `${JSON.stringify(logins, null, 2)}\n`, { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, path);
}

function unreadable(reason: string): RowmillError {
  return new RowmillError('SETTINGS_INVALID', `cannot read ${credentialsPath()}: ${reason}`, {
    hint: 'Remove the file and sign in again: rowmill login',
  });
}

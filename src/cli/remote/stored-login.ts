// Keys that `rowmill login` made, by server, in a file that only its owner can read. Every command looks here, so it is
// checked without zod, which is a quarter of the modules that a command loads otherwise.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { configHomeFromEnvironment } from '../../platform/environment.ts';

export interface Login {
  /** Null: the server asks nobody who they are. */
  apiKey: string | null;
  userId: string;
  /** Null: the key was given, not made here. */
  keyId: string | null;
}

interface Credentials {
  /** Where commands go that are not told where. */
  current: string | null;
  servers: Record<string, Login>;
}

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
  const stored = parseJson(text);
  if (!isCredentials(stored)) throw unreadable('it is not what rowmill login writes');
  return stored;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isCredentials(value: unknown): value is Credentials {
  return (
    isRecord(value) &&
    isTextOrNull(value.current) &&
    isRecord(value.servers) &&
    Object.values(value.servers).every(isLogin)
  );
}

function isLogin(value: unknown): value is Login {
  return (
    isRecord(value) &&
    isTextOrNull(value.apiKey) &&
    typeof value.userId === 'string' &&
    isTextOrNull(value.keyId)
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
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

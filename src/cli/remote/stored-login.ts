// Keys stored by `rowmill login`, one per server, in a file that only its owner can read. Every command reads it, so
// it is checked without zod, which would add a quarter to the modules that a command loads.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { configHomeFromEnvironment } from '../../platform/environment.ts';

export interface Login {
  /** Null if the server has no accounts. */
  apiKey: string | null;
  userId: string;
  /** Null if the key was passed in, not created by login. */
  keyId: string | null;
}

interface Credentials {
  /** The server for commands that do not name one. */
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

/** Replaces the file atomically. Others can never read it, not even for a moment. */
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

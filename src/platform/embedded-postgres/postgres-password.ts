// The random password of the embedded server, in a file that only its user can read. It is written before the first
// initdb, so that a cluster never exists without it.
import { randomBytes, randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';

export async function readPassword(passwordFile: string): Promise<string | null> {
  try {
    const password = (await readFile(passwordFile, 'utf8')).trim();
    return password === '' ? null : password;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Uses only characters that need no escaping in a URL, in SQL or in a shell. */
export function generatePassword(): string {
  return randomBytes(24).toString('base64url');
}

export async function writePassword(passwordFile: string, password: string): Promise<void> {
  const draft = `${passwordFile}.${randomUUID()}`;
  await writeFile(draft, `${password}\n`, { mode: 0o600, flag: 'wx' });
  await rename(draft, passwordFile);
}

// Chooses the system user that runs PostgreSQL. PostgreSQL refuses to run as root, so root runs it as an existing
// unprivileged user. Other users run it as themselves (null).
import { readFile, stat } from 'node:fs/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

export interface ServerUser {
  uid: number;
  gid: number;
}

export async function chooseServerUser(pgdata: string): Promise<ServerUser | null> {
  if (process.getuid?.() !== 0) return null;

  // Existing data decides: an ordinary user may have created the folder, or the `postgres` user may be newer.
  const owner = await stat(pgdata).catch(() => null);
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };

  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  // initdb looks up its user by name, so the uid must be in /etc/passwd.
  for (const wanted of ['postgres', 'nobody']) {
    const fields = passwd
      .split('\n')
      .map((line) => line.split(':'))
      .find(([name]) => name === wanted);
    if (fields !== undefined && fields.length >= 4 && fields[2] !== '0') {
      return { uid: Number(fields[2]), gid: Number(fields[3]) };
    }
  }
  throw new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_NO_SERVER_USER',
    'expected a user "postgres" or "nobody" in /etc/passwd to run PostgreSQL as, because it refuses to run as root',
    'Run Rowmill as an ordinary user, or set DATABASE_URL to your own PostgreSQL server.',
  );
}

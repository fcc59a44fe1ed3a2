// The error when another process owns the data folder.
import { readPort } from './choose-port.ts';
import type { DataFolder } from './data-folder.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import type { LockHolder } from './folder-lock.ts';

export const DATABASE = 'rowmill';

export async function folderInUse(folder: DataFolder, owner: LockHolder): Promise<EmbeddedPostgresError> {
  if (owner.elsewhere) {
    return new EmbeddedPostgresError(
      'EMBEDDED_POSTGRES_FOLDER_IN_USE',
      `expected ${folder.root} to be free, but a process of another container or machine is using its PostgreSQL server`,
      'Use a separate data folder for each, or set DATABASE_URL to one PostgreSQL server for all.',
    );
  }
  const port = await readPort(folder.portFile);
  const share =
    port === null
      ? ''
      : ` To share its server, set DATABASE_URL=postgres://rowmill@127.0.0.1:${port}/${DATABASE} with the password from ${folder.passwordFile}.`;
  const who = owner.pid === process.pid ? 'this process' : `process ${owner.pid}`;
  return new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_FOLDER_IN_USE',
    `expected ${folder.root} to be free, but ${who} is using its PostgreSQL server`,
    `Stop process ${owner.pid} first, or choose another data folder.${share}`,
  );
}

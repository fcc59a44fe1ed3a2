// Waits until the server of one data folder answers a query. Log lines and open ports do not prove that it is ready.
// The query reads a nonce that was just written to the folder, because another server could answer SELECT 1: one that
// took the port a moment earlier, or one whose data folder was copied with its postmaster.pid and password.
import { randomUUID } from 'node:crypto';
import { chown, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../core/retries/backoff.ts';
import type { ServerUser } from './choose-server-user.ts';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';
import { type ServerAddress, withClient } from './with-client.ts';

export interface AwaitReadyOptions extends ServerAddress {
  pgdata: string;
  user: ServerUser | null;
  hasExited: () => boolean;
  deadlineMs: number;
}

export type Readiness = 'ready' | 'exited' | 'timed out';

const NONCE_FILE = 'rowmill-readiness-check';
// A server that lost the race for its port needs a moment to exit. Until then the other server rejects our password.
const REJECTION_GRACE_MS = 1_000;

const BACKOFF = { firstMs: 10, capMs: 200, factor: 1.5 };

export async function awaitReady(options: AwaitReadyOptions): Promise<Readiness> {
  const { pgdata, user, hasExited, deadlineMs } = options;
  const file = join(pgdata, NONCE_FILE);
  const nonce = randomUUID();
  try {
    await writeFile(file, nonce, { mode: 0o600 });
    if (user !== null) await chown(file, user.uid, user.gid);
    let firstRejectionMs: number | undefined;
    for (let looks = 0; ; looks += 1) {
      if (hasExited()) return 'exited';
      try {
        if ((await readNonce(options)) === nonce) return 'ready';
      } catch (error) {
        if (isRejection(error)) {
          firstRejectionMs ??= Date.now();
          if (Date.now() - firstRejectionMs > REJECTION_GRACE_MS && !hasExited())
            throw passwordRejected(error);
        }
        // Other errors are transient: refused, reset, starting up, shutting down, too many connections.
      }
      if (Date.now() > deadlineMs) return 'timed out';
      await delay(backoffMs(BACKOFF, looks));
    }
  } finally {
    await rm(file, { force: true });
  }
}

async function readNonce(address: ServerAddress): Promise<string | null | undefined> {
  const result = await withClient(address, 'postgres', (client) =>
    client.query<{ content: string | null }>('SELECT pg_read_file($1, true) AS content', [NONCE_FILE]),
  );
  return result.rows[0]?.content;
}

function isRejection(error: unknown): error is Error {
  return error instanceof Error && ['28P01', '28000'].includes((error as { code?: string }).code ?? '');
}

function passwordRejected(cause: Error): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_PASSWORD_REJECTED',
    `expected the embedded server to accept the password in postgres.password, got: ${cause.message}`,
    'Delete the file postgres.password: the next start sets a new password.',
    { cause },
  );
}

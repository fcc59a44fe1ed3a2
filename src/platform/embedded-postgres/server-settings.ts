// The PostgreSQL settings of the embedded server. They are passed at each start and not written to postgresql.conf,
// so a new version of Rowmill brings its own and the file stays the user's.
import { readFile, writeFile } from 'node:fs/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

const DEFAULT_SETTINGS: Record<string, string> = {
  shared_buffers: '256MB',
  max_connections: '100',
  max_wal_size: '2GB',
  // Nothing replicates from this server, and COPY into a table of the same transaction then skips the log.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // A crash must not lose an acknowledged result, on a laptop either.
  fsync: 'on',
  synchronous_commit: 'on',
  // Short statements dominate; compiling them costs more than it saves.
  jit: 'off',
  log_checkpoints: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  password_encryption: 'scram-sha-256',
};

const RESERVED = [
  'port',
  'listen_addresses',
  'unix_socket_directories',
  'data_directory',
  'external_pid_file',
];

export function assertSettings(userSettings: Record<string, string>): void {
  const reserved = Object.keys(userSettings).find((name) => RESERVED.includes(name.toLowerCase()));
  if (reserved === undefined) return;
  throw new EmbeddedPostgresError(
    'EMBEDDED_POSTGRES_INVALID_SETTING',
    `expected settings without "${reserved}", which the embedded server chooses itself`,
    'Remove it, or set DATABASE_URL to a PostgreSQL server of your own.',
  );
}

export function settingArguments(userSettings: Record<string, string>, port: number): string[] {
  const settings = {
    ...DEFAULT_SETTINGS,
    ...userSettings,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: String(port),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

export async function writeSettings(file: string, userSettings: Record<string, string>): Promise<void> {
  await writeFile(file, `${JSON.stringify(userSettings)}\n`);
}

/** None when there is no such file, or one that a power loss tore: the defaults do. */
export async function readSettings(file: string): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
  } catch {
    return {};
  }
}

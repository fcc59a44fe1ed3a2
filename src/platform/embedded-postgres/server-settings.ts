// PostgreSQL settings of the embedded server. They are passed at each start and not written to postgresql.conf, so a
// new version of Rowmill brings its own settings and the file stays under the user's control.
import { readFile, writeFile } from 'node:fs/promises';
import { EmbeddedPostgresError } from './embedded-postgres-error.ts';

const DEFAULT_SETTINGS: Record<string, string> = {
  shared_buffers: '256MB',
  max_connections: '100',
  max_wal_size: '2GB',
  // This server has no replicas, and COPY into a table created in the same transaction then skips the WAL.
  wal_level: 'minimal',
  max_wal_senders: '0',
  // A crash must not lose an acknowledged result, even on a laptop.
  fsync: 'on',
  synchronous_commit: 'on',
  // Most statements are short: compiling them costs more than it saves.
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
    `expected settings without "${reserved}", which the embedded server sets itself`,
    'Remove it, or set DATABASE_URL to your own PostgreSQL server.',
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

/** Empty if the file is missing or torn by a power failure: the defaults are good enough. */
export async function readSettings(file: string): Promise<Record<string, string>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
  } catch {
    return {};
  }
}

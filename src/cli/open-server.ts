// Opens the PostgreSQL of a command: --database-url, else DATABASE_URL, else the embedded server in the data folder,
// which is started here or shared with the process that runs it.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RowmillError } from '../core/errors/rowmill-error.ts';
import { withoutPassword } from '../platform/database-servers.ts';
import { joinEmbeddedPostgres } from '../platform/embedded-postgres/join-embedded-postgres.ts';
import { startEmbeddedPostgres } from '../platform/embedded-postgres/start-embedded-postgres.ts';
import { databaseUrlFromEnvironment } from '../platform/environment.ts';
import { TEXT_SETTINGS } from '../platform/setting-table.ts';
import { loadSettings, type Settings } from '../platform/settings.ts';
import {
  type DatabaseWait,
  describeDatabaseWait,
  whenDatabaseAnswers,
} from '../platform/when-database-answers.ts';
import { loadProjectConfig, projectFolder } from './project-config.ts';

export interface ServerOptions {
  databaseUrl?: string;
  dataDir?: string;
  /** Commander's --set. */
  set?: Record<string, unknown>;
  /** The settings file; default: ROWMILL_CONFIG. */
  config?: string;
}

/** Settings of a command. By default files are stored beside the data of the embedded server. */
export async function commandSettings(options: ServerOptions): Promise<Settings> {
  const project = await loadProjectConfig();
  const settings = loadSettings({
    flags: options.set ?? {},
    ...(options.config !== undefined && { file: options.config }),
    ...(project && { project: project.settings }),
  });
  if (settings.blobStore !== TEXT_SETTINGS.blobStore.default) return settings;
  return { ...settings, blobStore: join(dataFolder(options), 'blobs') };
}

/** Folder of the embedded PostgreSQL: by default .rowmill in the folder of rowmill.config.ts, else here. */
export function dataFolder({ dataDir }: ServerOptions = {}): string {
  return dataDir === undefined ? join(projectFolder(), '.rowmill') : resolve(dataDir);
}

export interface OpenedServer {
  url: string;
  /** For display, without the password. */
  description: string;
  stop(): Promise<void>;
}

/** Addresses that the driver accepts: a URL, or the folder of a socket. */
const ADDRESS = /^(postgres(ql)?:\/\/|socket:|\/)/;

/** If the owner of the server exits while this process joins it, one more try is needed, rarely a third. */
const MOST_TRIES = 5;

interface CreateOptions {
  /** If false, a folder without an embedded PostgreSQL is an error: a command that only reads does not create one. */
  create?: boolean;
}

export async function openServer(
  options: ServerOptions,
  say: (line: string) => void,
  { create = true }: CreateOptions = {},
): Promise<OpenedServer> {
  const given = options.databaseUrl ?? databaseUrlFromEnvironment();
  if (given && !ADDRESS.test(given))
    throw new RowmillError(
      'DATABASE_UNREACHABLE',
      'expected the address of a database such as postgres://user@host:5432/name',
    );
  if (given) return { url: given, description: withoutPassword(given), stop: async () => {} };
  const folder = dataFolder(options);
  if (!create && !existsSync(join(folder, 'pgdata'))) throw noDatabase(folder);
  return openEmbedded(folder, say);
}

export function noDatabase(folder: string): RowmillError {
  return new RowmillError('DATABASE_UNREACHABLE', `there is no database in ${folder} yet`, {
    hint: 'Create one with `rowmill dev` or `rowmill run <pipeline> <file>`, or name another with --data-dir, --database-url or DATABASE_URL.',
  });
}

/** The database that openServer would open, and where its address comes from. */
export function databaseOrigin(options: ServerOptions): string {
  if (options.databaseUrl !== undefined) return 'the database (from --database-url)';
  if (databaseUrlFromEnvironment()) return 'the database (from DATABASE_URL)';
  return `${databaseName(options)} (DATABASE_URL is not set)`;
}

/** The database that openServer would open. Called before it, so that a new folder is recognised. */
export function databaseName(options: ServerOptions): string {
  if (options.databaseUrl ?? databaseUrlFromEnvironment()) return 'the database';
  const folder = dataFolder(options);
  return `${existsSync(folder) ? 'the' : 'a new'} embedded PostgreSQL in ${folder}`;
}

/** Starts the embedded server of the folder, or joins the process that runs it. */
async function openEmbedded(dataDir: string, say: (line: string) => void): Promise<OpenedServer> {
  const description = `embedded PostgreSQL in ${dataDir}`;
  for (let tries = 1; ; tries += 1) {
    let isStopping = false;
    const onLog = (line: string): void => {
      if (!isStopping) say(line);
    };
    try {
      const server = await startEmbeddedPostgres({ dataDir, onLog });
      const stop = (): Promise<void> => {
        isStopping = true;
        return server.stop();
      };
      return { url: server.url, description, stop };
    } catch (error) {
      if (!(error instanceof RowmillError) || error.code !== 'EMBEDDED_POSTGRES_FOLDER_IN_USE') throw error;
      const url = await joinEmbeddedPostgres({ dataDir, onLog });
      if (url !== null)
        return { url, description: `${description}, run by another process`, stop: async () => {} };
      if (tries === MOST_TRIES) throw error;
    }
  }
}

export function sayDatabaseWait(wait: DatabaseWait): void {
  console.error(describeDatabaseWait(wait));
}

/** For commands that open the database without with-rowmill.ts. */
export function whenServerAnswers<T>(
  work: () => Promise<T>,
  { databaseStartWaitMs: waitMs }: Settings,
  signal?: AbortSignal,
): Promise<T> {
  return whenDatabaseAnswers(work, { waitMs, onWait: sayDatabaseWait, ...(signal && { signal }) });
}

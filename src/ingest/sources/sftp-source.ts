// A folder on an SFTP server. The server identifies itself by its host key, whose fingerprint the settings must
// contain. If the fingerprint is missing or different, nothing is sent.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type SftpClient from 'ssh2-sftp-client';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { withoutTrailing } from '../../core/files/without-trailing.ts';
import { secretFromEnvironment } from '../../platform/environment.ts';
import { withDeadline, withDeadlines } from './deadline.ts';
import {
  type RemoteEntry,
  type RemoteFolder,
  RemoteFolderSource,
  type RemoteStats,
} from './remote-folder-source.ts';
import type { SourceAdapter } from './source-adapter.ts';
import type { SftpSourceConfig } from './source-config.ts';

/** Missing in the types of the package. */
type WithLstat = SftpClient & { lstat: SftpClient['stat'] };

export function createSftpSource(
  config: SftpSourceConfig,
  stableMs: number,
  deadlineMs: number,
): SourceAdapter {
  return new RemoteFolderSource(new SftpFolder(config, deadlineMs), {
    source: config.name,
    stableMs,
    ...(config.include && { include: config.include }),
  });
}

class SftpFolder implements RemoteFolder {
  readonly description: string;
  readonly #address: string;
  readonly #config: SftpSourceConfig;
  readonly #deadlineMs: number;
  #client: SftpClient | null = null;

  constructor(config: SftpSourceConfig, deadlineMs: number) {
    this.#address = `${config.host}${config.port ? `:${config.port}` : ''}`;
    this.description = `sftp://${this.#address}${config.path.startsWith('/') ? '' : '/'}${config.path}`;
    this.#config = config;
    this.#deadlineMs = deadlineMs;
  }

  async connect(): Promise<string> {
    const sftp = await this.#connected();
    const path = await this.#limited('REALPATH', sftp.realPath(this.#config.path));
    if ((await this.#limited('STAT', sftp.exists(path))) !== 'd') {
      throw new RowmillError('SOURCE_UNAVAILABLE', `expected ${this.description} to be a folder`);
    }
    return path;
  }

  async list(folder: string): Promise<RemoteEntry[]> {
    const sftp = await this.#connected();
    const entries = await this.#limited('READDIR', sftp.list(folder));
    return entries.map(
      (entry): RemoteEntry => ({
        name: entry.name,
        kind: entry.type === '-' ? 'file' : entry.type === 'd' ? 'folder' : 'other',
        stats: { bytes: entry.size, modifiedMs: entry.modifyTime },
      }),
    );
  }

  async stat(path: string): Promise<RemoteStats | null> {
    const sftp = await this.#connected();
    try {
      const stats = await this.#limited('LSTAT', (sftp as WithLstat).lstat(path));
      return stats.isFile ? { bytes: stats.size, modifiedMs: stats.modifyTime } : null;
    } catch (error) {
      if ((error as { code?: unknown }).code === 'ENOENT') return null;
      throw error;
    }
  }

  async makeFolder(path: string): Promise<boolean> {
    const sftp = await this.#connected();
    const there = await this.#limited('STAT', sftp.exists(path));
    if (there !== false) return there === 'd';
    return this.#limited('MKDIR', sftp.mkdir(path)).then(
      () => true,
      async () => (await this.#limited('STAT', sftp.exists(path))) === 'd',
    );
  }

  async rename(from: string, to: string): Promise<void> {
    const sftp = await this.#connected();
    await this.#limited('RENAME', sftp.rename(from, to));
  }

  async *read(path: string, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const sftp = await this.#connected();
    const stream = sftp.createReadStream(path) as NodeJS.ReadableStream & { destroy(error?: Error): void };
    // The stream may report the end of the connection once more after it is no longer read.
    stream.on('error', () => {});
    const lost = (): void => stream.destroy(new Error(`the connection to ${this.description} was lost`));
    const stop = (): void => stream.destroy(new Error('stopped'));
    sftp.on('close', lost);
    signal.addEventListener('abort', stop, { once: true });
    try {
      yield* withDeadlines(
        `reading from ${this.description}`,
        this.#deadlineMs,
        stream as AsyncIterable<Buffer>,
        () => {
          stop();
          this.#drop();
        },
      );
    } finally {
      sftp.removeListener('close', lost);
      signal.removeEventListener('abort', stop);
      stream.destroy();
    }
  }

  async write(path: string, text: string): Promise<void> {
    const sftp = await this.#connected();
    await this.#limited('WRITE', sftp.put(Buffer.from(text), path));
  }

  async disconnect(): Promise<void> {
    const ended = this.#client;
    this.#client = null;
    await ended?.end().catch(() => {});
  }

  #drop(): void {
    const dropped = this.#client;
    this.#client = null;
    void dropped?.end().catch(() => {});
  }

  async #limited<T>(what: string, work: Promise<T>): Promise<T> {
    return withDeadline(`${what} on ${this.description}`, this.#deadlineMs, work, this.#drop);
  }

  async #connected(): Promise<SftpClient> {
    if (this.#client) return this.#client;
    const Client = await loadPackage();
    const fresh = new Client('rowmill', { error() {}, end() {}, close() {} });
    const forget = (): void => {
      if (this.#client === fresh) this.#client = null;
    };
    fresh.on('close', forget);
    fresh.on('error', forget);
    let seen: string | null = null;
    try {
      const connecting = fresh.connect({
        host: this.#config.host,
        ...(this.#config.port !== undefined && { port: this.#config.port }),
        username: this.#config.user,
        ...credentials(this.#config),
        readyTimeout: this.#deadlineMs,
        keepaliveInterval: Math.ceil(this.#deadlineMs / 3),
        keepaliveCountMax: 3,
        hostVerifier: (key: Buffer) => {
          seen = fingerprintOfKey(key);
          return seen === this.#config.hostKey?.replace(/=$/, '');
        },
      });
      await withDeadline(
        `connecting to ${this.description}`,
        this.#deadlineMs * 2,
        connecting,
        () => void fresh.end(),
      );
    } catch (cause) {
      void fresh.end().catch(() => {});
      if (seen !== null && seen !== this.#config.hostKey?.replace(/=$/, ''))
        throw wrongHostKey(this.#address, this.#config, seen);
      if (cause instanceof RowmillError) throw cause;
      throw new RowmillError(
        'SOURCE_UNAVAILABLE',
        `cannot connect to ${this.description}: ${(cause as Error).message}`,
        {
          cause,
        },
      );
    }
    this.#client = fresh;
    return fresh;
  }
}

function credentials(config: SftpSourceConfig): Record<string, unknown> {
  const secret = (name: string): string => {
    const value = secretFromEnvironment(name);
    if (value === undefined) {
      throw new RowmillError('SOURCE_INVALID', `expected the environment variable ${name} to be set`);
    }
    return value;
  };
  try {
    return {
      ...(config.passwordEnv !== undefined && { password: secret(config.passwordEnv) }),
      ...(config.privateKeyFile !== undefined && { privateKey: readFileSync(config.privateKeyFile) }),
      ...(config.passphraseEnv !== undefined && { passphrase: secret(config.passphraseEnv) }),
    };
  } catch (cause) {
    if (cause instanceof RowmillError) throw cause;
    throw new RowmillError(
      'SOURCE_INVALID',
      `cannot read ${config.privateKeyFile}: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

/** In the format of ssh-keygen -l. */
function fingerprintOfKey(key: Buffer): string {
  return `SHA256:${withoutTrailing(createHash('sha256').update(key).digest('base64'), '=')}`;
}

function wrongHostKey(address: string, config: SftpSourceConfig, seen: string): RowmillError {
  const message =
    config.hostKey === undefined
      ? `expected hostKey of the source ${config.name} to be set; ${address} shows ${seen}`
      : `expected ${address} to show the host key ${config.hostKey}, it shows ${seen}`;
  return new RowmillError('SOURCE_INVALID', message, {
    hint: 'Ask the operator of the server for its fingerprint (ssh-keygen -l), and set hostKey only if it is this one.',
  });
}

async function loadPackage(): Promise<typeof SftpClient> {
  try {
    return (await import('ssh2-sftp-client')).default;
  } catch (cause) {
    throw new RowmillError('SOURCE_INVALID', 'the package ssh2-sftp-client is not installed', {
      hint: 'npm install ssh2-sftp-client',
      cause,
    });
  }
}

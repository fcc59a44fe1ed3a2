// A folder on an SFTP server. The server proves who it is by its host key, whose fingerprint the settings must name:
// without it, or with another one, nothing is sent.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type SftpClient from 'ssh2-sftp-client';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { withoutTrailing } from '../../core/files/without-trailing.ts';
import { secretFromEnvironment } from '../../platform/environment.ts';
import { withDeadline, withDeadlines } from './deadline.ts';
import { createRemoteFolderSource, type RemoteEntry, type RemoteFolder } from './remote-folder-source.ts';
import type { SourceAdapter } from './source-adapter.ts';
import type { SftpSourceConfig } from './source-config.ts';

/** Missing in the types of the package. */
type WithLstat = SftpClient & { lstat: SftpClient['stat'] };

export function createSftpSource(
  config: SftpSourceConfig,
  stableMs: number,
  deadlineMs: number,
): SourceAdapter {
  return createRemoteFolderSource(createSftpFolder(config, deadlineMs), {
    source: config.name,
    stableMs,
    ...(config.include && { include: config.include }),
  });
}

function createSftpFolder(config: SftpSourceConfig, deadlineMs: number): RemoteFolder {
  const address = `${config.host}${config.port ? `:${config.port}` : ''}`;
  const description = `sftp://${address}${config.path.startsWith('/') ? '' : '/'}${config.path}`;
  let client: SftpClient | null = null;

  function drop(): void {
    const dropped = client;
    client = null;
    void dropped?.end().catch(() => {});
  }

  async function limited<T>(what: string, work: Promise<T>): Promise<T> {
    return withDeadline(`${what} on ${description}`, deadlineMs, work, drop);
  }

  async function connected(): Promise<SftpClient> {
    if (client) return client;
    const Client = await loadPackage();
    const fresh = new Client('rowmill', { error() {}, end() {}, close() {} });
    const forget = (): void => {
      if (client === fresh) client = null;
    };
    fresh.on('close', forget);
    fresh.on('error', forget);
    let seen: string | null = null;
    try {
      const connecting = fresh.connect({
        host: config.host,
        ...(config.port !== undefined && { port: config.port }),
        username: config.user,
        ...credentials(config),
        readyTimeout: deadlineMs,
        keepaliveInterval: Math.ceil(deadlineMs / 3),
        keepaliveCountMax: 3,
        hostVerifier: (key: Buffer) => {
          seen = fingerprintOfKey(key);
          return seen === config.hostKey?.replace(/=$/, '');
        },
      });
      await withDeadline(`connecting to ${description}`, deadlineMs * 2, connecting, () => void fresh.end());
    } catch (cause) {
      void fresh.end().catch(() => {});
      if (seen !== null && seen !== config.hostKey?.replace(/=$/, ''))
        throw wrongHostKey(address, config, seen);
      if (cause instanceof RowmillError) throw cause;
      throw new RowmillError(
        'SOURCE_UNAVAILABLE',
        `cannot connect to ${description}: ${(cause as Error).message}`,
        {
          cause,
        },
      );
    }
    client = fresh;
    return fresh;
  }

  return {
    description,
    async connect() {
      const sftp = await connected();
      const path = await limited('REALPATH', sftp.realPath(config.path));
      if ((await limited('STAT', sftp.exists(path))) !== 'd') {
        throw new RowmillError('SOURCE_UNAVAILABLE', `expected ${description} to be a folder`);
      }
      return path;
    },
    async list(folder) {
      const sftp = await connected();
      const entries = await limited('READDIR', sftp.list(folder));
      return entries.map(
        (entry): RemoteEntry => ({
          name: entry.name,
          kind: entry.type === '-' ? 'file' : entry.type === 'd' ? 'folder' : 'other',
          stats: { bytes: entry.size, modifiedMs: entry.modifyTime },
        }),
      );
    },
    async stat(path) {
      const sftp = await connected();
      try {
        const stats = await limited('LSTAT', (sftp as WithLstat).lstat(path));
        return stats.isFile ? { bytes: stats.size, modifiedMs: stats.modifyTime } : null;
      } catch (error) {
        if ((error as { code?: unknown }).code === 'ENOENT') return null;
        throw error;
      }
    },
    async makeFolder(path) {
      const sftp = await connected();
      const there = await limited('STAT', sftp.exists(path));
      if (there !== false) return there === 'd';
      return limited('MKDIR', sftp.mkdir(path)).then(
        () => true,
        async () => (await limited('STAT', sftp.exists(path))) === 'd',
      );
    },
    async rename(from, to) {
      const sftp = await connected();
      await limited('RENAME', sftp.rename(from, to));
    },
    async *read(path, signal) {
      const sftp = await connected();
      const stream = sftp.createReadStream(path) as NodeJS.ReadableStream & { destroy(error?: Error): void };
      // It may report the end of the connection once more after nobody reads it.
      stream.on('error', () => {});
      const lost = (): void => stream.destroy(new Error(`the connection to ${description} was lost`));
      const stop = (): void => stream.destroy(new Error('stopped'));
      sftp.on('close', lost);
      signal.addEventListener('abort', stop, { once: true });
      try {
        yield* withDeadlines(
          `reading from ${description}`,
          deadlineMs,
          stream as AsyncIterable<Buffer>,
          () => {
            stop();
            drop();
          },
        );
      } finally {
        sftp.removeListener('close', lost);
        signal.removeEventListener('abort', stop);
        stream.destroy();
      }
    },
    async write(path, text) {
      const sftp = await connected();
      await limited('WRITE', sftp.put(Buffer.from(text), path));
    },
    async disconnect() {
      const ended = client;
      client = null;
      await ended?.end().catch(() => {});
    },
  };
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

/** As ssh-keygen -l prints it. */
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

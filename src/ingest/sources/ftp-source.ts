// A folder on an FTP server, encrypted unless the settings turn encryption off. The server's certificate is verified.
// The address that a server names for its data connections is ignored: they go to the host of the control connection,
// so that a server cannot direct this machine to other hosts.
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { PassThrough } from 'node:stream';
import type { Client, FTPContext } from 'basic-ftp';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { secretFromEnvironment } from '../../platform/environment.ts';
import { withDeadline, withDeadlines } from './deadline.ts';
import {
  type RemoteEntry,
  type RemoteFolder,
  RemoteFolderSource,
  type RemoteStats,
} from './remote-folder-source.ts';
import type { SourceAdapter } from './source-adapter.ts';
import type { FtpSourceConfig } from './source-config.ts';

const FILE = 1;
const FOLDER = 2;

export function createFtpSource(
  config: FtpSourceConfig,
  stableMs: number,
  deadlineMs: number,
): SourceAdapter {
  return new RemoteFolderSource(new FtpFolder(config, deadlineMs), {
    source: config.name,
    stableMs,
    ...(config.include && { include: config.include }),
  });
}

class FtpFolder implements RemoteFolder {
  readonly description: string;
  readonly #config: FtpSourceConfig;
  readonly #deadlineMs: number;
  #client: Client | null = null;

  constructor(config: FtpSourceConfig, deadlineMs: number) {
    this.description = `${config.secure === 'none' ? 'ftp' : 'ftps'}://${config.host}${config.port ? `:${config.port}` : ''}${config.path.startsWith('/') ? '' : '/'}${config.path}`;
    this.#config = config;
    this.#deadlineMs = deadlineMs;
  }

  async stat(path: string): Promise<RemoteStats | null> {
    const ftp = await this.#connected();
    try {
      const bytes = await this.#limited('SIZE', ftp.size(path));
      const modified = await this.#limited('MDTM', ftp.lastMod(path));
      return { bytes, modifiedMs: wholeSeconds(modified) };
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (code === 550) return null;
      if (code === 500 || code === 502) {
        throw new RowmillError(
          'SOURCE_INVALID',
          `${this.description} does not report the size and time of its files`,
          {
            hint: 'The server must support SIZE and MDTM: without them a file that is still being written looks complete.',
            cause: error,
          },
        );
      }
      throw error;
    }
  }

  async connect(): Promise<string> {
    const ftp = await this.#connected();
    try {
      await this.#limited('CWD', ftp.cd(this.#config.path));
      return await this.#limited('PWD', ftp.pwd());
    } catch (cause) {
      throw new RowmillError(
        'SOURCE_UNAVAILABLE',
        `cannot enter ${this.description}: ${(cause as Error).message}`,
        {
          cause,
        },
      );
    }
  }

  async list(folder: string): Promise<RemoteEntry[]> {
    const ftp = await this.#connected();
    const entries = await this.#limited('LIST', ftp.list(folder), this.#deadlineMs * 3);
    return entries.map(
      (entry): RemoteEntry => ({
        name: entry.name,
        kind: entry.type === FILE ? 'file' : entry.type === FOLDER ? 'folder' : 'other',
        stats: entry.modifiedAt ? { bytes: entry.size, modifiedMs: wholeSeconds(entry.modifiedAt) } : null,
      }),
    );
  }

  async makeFolder(path: string): Promise<boolean> {
    const ftp = await this.#connected();
    try {
      await this.#limited('MKD', ftp.send(`MKD ${path}`));
      return true;
    } catch (error) {
      if (typeof (error as { code?: unknown }).code !== 'number') throw error;
      // Usually refused because the folder exists. Entering it shows whether it does.
      const before = await this.#limited('PWD', ftp.pwd());
      const there = await this.#limited('CWD', ftp.cd(path)).then(
        () => true,
        () => false,
      );
      await this.#limited('CWD', ftp.cd(before));
      return there;
    }
  }

  async rename(from: string, to: string): Promise<void> {
    const ftp = await this.#connected();
    await this.#limited('RNTO', ftp.rename(from, to));
  }

  async *read(path: string, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const ftp = await this.#connected();
    const through = new PassThrough();
    const stop = (): void => ftp.close();
    signal.addEventListener('abort', stop, { once: true });
    const download = ftp.downloadTo(through, path).catch((error: Error) => {
      through.destroy(error);
      throw error;
    });
    download.catch(() => {});
    let whole = false;
    try {
      yield* withDeadlines(
        `reading from ${this.description}`,
        this.#deadlineMs,
        through as AsyncIterable<Buffer>,
        stop,
      );
      // The end of the data is the end of the file only if the server confirms the transfer.
      await this.#limited('RETR', download);
      whole = true;
    } finally {
      signal.removeEventListener('abort', stop);
      // An unfinished transfer leaves the connection unusable.
      if (!whole) ftp.close();
    }
  }

  async write(path: string, text: string): Promise<void> {
    const ftp = await this.#connected();
    const content = new PassThrough();
    content.end(text);
    await this.#limited('STOR', ftp.uploadFrom(content, path));
  }

  async disconnect(): Promise<void> {
    this.#client?.close();
    this.#client = null;
  }

  #limited<T>(what: string, work: Promise<T>, forMs = this.#deadlineMs): Promise<T> {
    return withDeadline(`${what} on ${this.description}`, forMs, work, () => this.#client?.close());
  }

  async #connected(): Promise<Client> {
    if (this.#client && !this.#client.closed) return this.#client;
    const { Client: FtpClient } = await loadPackage();
    const password = secretFromEnvironment(this.#config.passwordEnv);
    if (password === undefined) {
      throw new RowmillError(
        'SOURCE_INVALID',
        `expected the environment variable ${this.#config.passwordEnv} to be set`,
      );
    }
    const fresh = new FtpClient(this.#deadlineMs, { allowSeparateTransferHost: false });
    this.#client = fresh;
    ignorePassiveAddress(fresh.ftp);
    try {
      const access = fresh.access({
        host: this.#config.host,
        ...(this.#config.port !== undefined && { port: this.#config.port }),
        user: this.#config.user,
        password,
        secure:
          this.#config.secure === 'none' ? false : this.#config.secure === 'implicit' ? 'implicit' : true,
        secureOptions: {
          host: this.#config.host,
          rejectUnauthorized: true,
          ...(isIP(this.#config.host) === 0 && { servername: this.#config.host }),
          ...(this.#config.caFile !== undefined && { ca: readFileSync(this.#config.caFile) }),
        },
      });
      // Connecting takes several replies: greeting, encryption, login and settings.
      await this.#limited('connecting', access, this.#deadlineMs * 3);
      return fresh;
    } catch (cause) {
      fresh.close();
      throw new RowmillError(
        'SOURCE_UNAVAILABLE',
        `cannot connect to ${this.description}: ${(cause as Error).message}`,
        {
          cause,
        },
      );
    }
  }
}

async function loadPackage(): Promise<typeof import('basic-ftp')> {
  try {
    return await import('basic-ftp');
  } catch (cause) {
    throw new RowmillError('SOURCE_INVALID', 'the package basic-ftp is not installed', {
      hint: 'npm install basic-ftp',
      cause,
    });
  }
}

/** Replaces the host in every PASV reply by the host we are connected to. EPSV, which is tried first, names no host. */
function ignorePassiveAddress(ftp: FTPContext): void {
  const request = ftp.request.bind(ftp);
  ftp.request = async (command) => {
    const answer = await request(command);
    const host = ftp.socket.remoteAddress?.replace(/^::ffff:/i, '');
    if (answer.code !== 227 || host === undefined || isIP(host) !== 4) return answer;
    const message = answer.message.replace(
      /\d{1,3},\d{1,3},\d{1,3},\d{1,3}(?=,\d{1,3},\d{1,3})/,
      host.replaceAll('.', ','),
    );
    return { ...answer, message };
  };
}

/** Servers report fractions of a second for some commands and not for others. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000;
}

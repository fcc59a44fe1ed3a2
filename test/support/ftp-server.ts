// An FTP server in this process over a temporary folder, plain or encrypted, with the faults that tests need.
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import ftp from 'ftp-srv';
import { freePort } from './free-port.ts';

export interface FtpServerOptions {
  tls?: { key: string; cert: string };
  implicit?: boolean;
  /** The address that PASV answers with. */
  passiveAddress?: string;
  /** Commands that the server does not support. */
  without?: string[];
  /** Renaming and creating folders are refused. */
  readOnly?: boolean;
}

export interface FtpTestServer {
  port: number;
  root: string;
  user: string;
  password: string;
  /** Received commands. */
  commands: string[];
  /** The next downloads end after this many bytes, with the connection. */
  cutDownloads(times: number, afterBytes: number): void;
  /** The next download sends this many bytes and then nothing more. */
  stallDownload(afterBytes: number): void;
  stop(): Promise<void>;
}

const silent = { child: () => silent, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const;

export async function startFtpServer(options: FtpServerOptions = {}): Promise<FtpTestServer> {
  const root = mkdtempSync(join(tmpdir(), 'rowmill-ftp-'));
  const port = await freePort();
  const user = 'rowmill';
  const password = 'a secret of the test';
  const commands: string[] = [];
  let cuts = { times: 0, afterBytes: 0 };
  let stallAfter: number | null = null;
  const before = SIGNALS.map((signal) => process.listeners(signal));
  const server = new ftp.FtpSrv({
    url: `${options.implicit ? 'ftps' : 'ftp'}://127.0.0.1:${port}`,
    // A function, because the server ignores a string for clients on the same machine.
    pasv_url: (() => options.passiveAddress ?? '127.0.0.1') as unknown as string,
    pasv_min: 30_000 + Math.floor(Math.random() * 20_000),
    blacklist: options.without ?? [],
    log: silent,
    ...(options.tls && { tls: options.tls }),
  });
  // Its signal handlers would end the whole process.
  for (const [i, signal] of SIGNALS.entries()) {
    for (const listener of process.listeners(signal)) {
      if (!before[i]!.includes(listener)) process.removeListener(signal, listener);
    }
  }

  class FaultyFileSystem extends ftp.FileSystem {
    override async read(name: string, range?: { start?: number }): Promise<unknown> {
      const path = join(root, name);
      const limit = cuts.times > 0 ? cuts.afterBytes : stallAfter;
      if (limit === null) return super.read(name, range);
      const cut = cuts.times > 0;
      if (cut) cuts.times -= 1;
      else stallAfter = null;
      const connection = this.connection as unknown as {
        commandSocket: { destroy(): void };
        connector: { socket: { destroy(): void } };
      };
      async function* part(): AsyncGenerator<Buffer> {
        yield* createReadStream(path, { end: limit! - 1 }) as AsyncIterable<Buffer>;
        if (!cut) await new Promise(() => {});
        connection.connector.socket.destroy();
        connection.commandSocket.destroy();
        await new Promise(() => {});
      }
      return Readable.from(part());
    }
    override async rename(from: string, to: string): Promise<unknown> {
      if (options.readOnly) throw new Error('permission denied');
      return super.rename(from, to);
    }
    override async mkdir(path: string): Promise<unknown> {
      if (options.readOnly) throw new Error('permission denied');
      return super.mkdir(path);
    }
  }

  server.on('login', ({ connection, username, password: given }, resolve, reject) => {
    if (username !== user || given !== password) return reject(new Error('wrong password'));
    resolve({ fs: new FaultyFileSystem(connection, { root, cwd: '/' }) });
  });
  server.on(
    'connect' as 'login',
    (({ connection }: { connection: unknown }) => {
      const inner = connection as { commands: { handle(line: string): unknown } };
      const handle = inner.commands.handle.bind(inner.commands);
      inner.commands.handle = (line) => {
        commands.push(line.split(' ')[0]!);
        return handle(line);
      };
    }) as never,
  );
  server.on('client-error', () => {});
  await server.listen();
  return {
    port,
    root,
    user,
    password,
    commands,
    cutDownloads(times, afterBytes) {
      cuts = { times, afterBytes };
    },
    stallDownload(afterBytes) {
      stallAfter = afterBytes;
    },
    async stop() {
      await server.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

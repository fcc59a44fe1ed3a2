// An SSH server in this process that serves a temporary folder over SFTP: like OpenSSH for list, stat, read, write,
// rename and mkdir, with the faults that tests need. Its host key is created for each run.
import { createHash, generateKeyPairSync } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, posix } from 'node:path';
import ssh2, { type Attributes, type Connection, type SFTPWrapper } from 'ssh2';

export interface SftpTestServer {
  port: number;
  root: string;
  user: string;
  password: string;
  /** In the format of ssh-keygen -l. */
  hostKey: string;
  /** Number of passwords offered. */
  passwords(): number;
  /** The next downloads end after this many bytes, with the connection. */
  cutDownloads(times: number, afterBytes: number): void;
  /** Reads are no longer answered. */
  stallReads(): void;
  stop(): Promise<void>;
}

const { OPEN_MODE, STATUS_CODE } = ssh2.utils.sftp;

export async function startSftpServer(options: { readOnly?: boolean } = {}): Promise<SftpTestServer> {
  const root = mkdtempSync(join(tmpdir(), 'rowmill-sftp-'));
  const user = 'rowmill';
  const password = 'a secret of the test';
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const pem = privateKey.export({ type: 'pkcs1', format: 'pem' }) as string;
  const parsed = ssh2.utils.parseKey(pem);
  if (parsed instanceof Error) throw parsed;
  const hostKey = `SHA256:${createHash('sha256').update(parsed.getPublicSSH()).digest('base64').replace(/=+$/, '')}`;
  const connections = new Set<Connection>();
  let passwords = 0;
  let cuts = { times: 0, afterBytes: 0 };
  let stalled = false;

  const server = new ssh2.Server({ hostKeys: [pem] }, (connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', () => {});
    connection.on('authentication', (request) => {
      if (request.method !== 'password') return request.reject(['password']);
      passwords += 1;
      if (request.username === user && request.password === password) request.accept();
      else request.reject();
    });
    connection.on('session', (accept) =>
      accept().on('sftp', (acceptSftp) => serve(acceptSftp(), connection)),
    );
  });

  function serve(sftp: SFTPWrapper, connection: Connection): void {
    const handles = new Map<number, { fd: number } | { entries: string[] | null; path: string }>();
    let nextHandle = 0;
    const local = (path: string): string => join(root, posix.normalize(`/${path}`));
    const handleOf = (buffer: Buffer) => handles.get(buffer.readUInt32BE(0));
    const grant = (id: number, value: { fd: number } | { entries: string[] | null; path: string }): void => {
      const buffer = Buffer.alloc(4);
      buffer.writeUInt32BE(nextHandle, 0);
      handles.set(nextHandle, value);
      nextHandle += 1;
      sftp.handle(id, buffer);
    };
    const answering = (id: number, work: () => void): void => {
      try {
        work();
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        sftp.status(
          id,
          code === 'ENOENT'
            ? STATUS_CODE.NO_SUCH_FILE
            : code === 'EACCES'
              ? STATUS_CODE.PERMISSION_DENIED
              : STATUS_CODE.FAILURE,
        );
      }
    };
    const forbidChanges = (): void => {
      if (options.readOnly) throw Object.assign(new Error('read-only'), { code: 'EACCES' });
    };
    const ok = (id: number): void => sftp.status(id, STATUS_CODE.OK);

    sftp.on('REALPATH', (id, path) => {
      const absolute = posix.resolve('/', path);
      sftp.name(id, [{ filename: absolute, longname: absolute, attrs: {} as Attributes }]);
    });
    const stat = (id: number, path: string) =>
      answering(id, () => sftp.attrs(id, attributes(lstatSync(local(path)))));
    sftp.on('STAT', stat);
    sftp.on('LSTAT', stat);
    sftp.on('FSTAT', (id, handle) =>
      answering(id, () => sftp.attrs(id, attributes(fstatSync((handleOf(handle) as { fd: number }).fd)))),
    );
    sftp.on('OPENDIR', (id, path) =>
      answering(id, () => grant(id, { entries: readdirSync(local(path)), path: local(path) })),
    );
    sftp.on('READDIR', (id, handle) =>
      answering(id, () => {
        const folder = handleOf(handle) as { entries: string[] | null; path: string };
        if (folder.entries === null) return sftp.status(id, STATUS_CODE.EOF);
        const entries = folder.entries.map((name) => {
          const stats = lstatSync(join(folder.path, name));
          const type = stats.isDirectory() ? 'd' : stats.isSymbolicLink() ? 'l' : '-';
          return {
            filename: name,
            longname: `${type}rw-r--r-- 1 u g 0 Jan 1 00:00 ${name}`,
            attrs: attributes(stats),
          };
        });
        folder.entries = null;
        if (entries.length === 0) return sftp.status(id, STATUS_CODE.EOF);
        sftp.name(id, entries);
      }),
    );
    sftp.on('OPEN', (id, path, flags) =>
      answering(id, () => {
        const writes = (flags & OPEN_MODE.WRITE) !== 0;
        if (writes) forbidChanges();
        grant(id, { fd: openSync(local(path), writes ? 'w' : 'r') });
      }),
    );
    sftp.on('READ', (id, handle, offset, length) =>
      answering(id, () => {
        if (stalled) return;
        if (cuts.times > 0 && offset + length > cuts.afterBytes) {
          cuts.times -= 1;
          (connection as unknown as { _sock: { destroy(): void } })._sock.destroy();
          return;
        }
        const buffer = Buffer.alloc(Math.min(length, 32_768));
        const read = readSync((handleOf(handle) as { fd: number }).fd, buffer, 0, buffer.length, offset);
        if (read === 0) sftp.status(id, STATUS_CODE.EOF);
        else sftp.data(id, buffer.subarray(0, read));
      }),
    );
    sftp.on('WRITE', (id, handle, offset, data) =>
      answering(id, () => {
        writeSync((handleOf(handle) as { fd: number }).fd, data, 0, data.length, offset);
        ok(id);
      }),
    );
    sftp.on('FSETSTAT', (id) => ok(id));
    sftp.on('SETSTAT', (id) => ok(id));
    sftp.on('CLOSE', (id, handle) =>
      answering(id, () => {
        const closed = handleOf(handle);
        if (closed && 'fd' in closed) closeSync(closed.fd);
        handles.delete(handle.readUInt32BE(0));
        ok(id);
      }),
    );
    sftp.on('RENAME', (id, from, to) =>
      answering(id, () => {
        forbidChanges();
        // Version 3 of the protocol does not overwrite.
        if (lstatSync(local(to), { throwIfNoEntry: false })) throw new Error(`${basename(to)} exists`);
        renameSync(local(from), local(to));
        ok(id);
      }),
    );
    sftp.on('MKDIR', (id, path) =>
      answering(id, () => {
        forbidChanges();
        mkdirSync(local(path));
        ok(id);
      }),
    );
    connection.on('close', () => {
      for (const handle of handles.values()) if ('fd' in handle) closeSync(handle.fd);
      handles.clear();
    });
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    root,
    user,
    password,
    hostKey,
    passwords: () => passwords,
    cutDownloads(times, afterBytes) {
      cuts = { times, afterBytes };
    },
    stallReads() {
      stalled = true;
    },
    async stop() {
      for (const connection of connections) connection.end();
      await new Promise((resolve) => server.close(resolve));
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function attributes(stats: Stats): Attributes {
  return {
    mode: stats.mode,
    uid: stats.uid,
    gid: stats.gid,
    size: stats.size,
    atime: Math.floor(stats.atimeMs / 1000),
    mtime: Math.floor(stats.mtimeMs / 1000),
  };
}

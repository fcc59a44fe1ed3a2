// A TCP proxy in front of a server: a test cuts all its connections, and lets them through again on the same port.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { stopAfterTest } from './stop-after-test.ts';

export interface CuttableProxy {
  url: string;
  /** Resets open and later connections. Returns the number of open ones. */
  cut(): number;
  /** Lets new connections send this many bytes to the server in total, then cuts. */
  cutAfter(bytes: number): void;
  /** Cuts every connection after it sent this many bytes to the server. Returns the number of cuts. */
  cutEach(bytes: number): { cuts: () => number };
  /** Forwards nothing and closes nothing, like a network that drops every packet. */
  hush(): void;
  heal(): void;
}

/** Closed after the test. */
export async function startCuttableProxy(target: string): Promise<CuttableProxy> {
  const { port } = new URL(target);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isHushed = false;
  let left = Number.POSITIVE_INFINITY;
  let leftOfEach = Number.POSITIVE_INFINITY;
  let cuts = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  };
  const cut = (): number => {
    const open = sockets.size / 2;
    isCut = true;
    for (const socket of [...sockets]) socket.resetAndDestroy();
    return open;
  };
  const server = createServer((client) => {
    client.on('error', () => {});
    if (isCut) return client.resetAndDestroy();
    const upstream = connect(Number(port), '127.0.0.1');
    keep(client);
    keep(upstream);
    if (isHushed) return;
    let sent = 0;
    client.on('data', (chunk) => {
      left -= chunk.length;
      sent += chunk.length;
      if (left < 0) cut();
      else if (sent > leftOfEach) {
        cuts += 1;
        client.resetAndDestroy();
        upstream.resetAndDestroy();
      }
    });
    client.pipe(upstream);
    upstream.pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stopAfterTest(() => {
    cut();
    return new Promise((resolve) => server.close(resolve));
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    cutAfter(bytes) {
      left = bytes;
    },
    cutEach(bytes) {
      leftOfEach = bytes;
      return { cuts: () => cuts };
    },
    hush() {
      isHushed = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    heal() {
      // The earlier connections are unusable.
      if (isHushed) for (const socket of [...sockets]) socket.resetAndDestroy();
      isHushed = false;
      isCut = false;
      leftOfEach = Number.POSITIVE_INFINITY;
      left = Number.POSITIVE_INFINITY;
    },
  };
}

// Picks the TCP port: the previous one if it is free, so that a copied DATABASE_URL stays valid.
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';

export async function choosePort(portFile: string): Promise<number> {
  const previous = await readPort(portFile);
  if (previous !== null && (await tryListen(previous)) !== null) return previous;
  const port = await tryListen(0);
  if (port === null) throw new Error('expected a free TCP port on 127.0.0.1, found none');
  await writeFile(portFile, `${port}\n`);
  return port;
}

export async function readPort(portFile: string): Promise<number | null> {
  const port = Number(await readFile(portFile, 'utf8').catch(() => ''));
  return Number.isInteger(port) && port > 0 && port < 65536 ? port : null;
}

function tryListen(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(null));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : null));
    });
  });
}

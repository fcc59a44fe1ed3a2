// Serves /metrics for Prometheus and /healthz. Both are unauthenticated: bind them to an address that only trusted
// clients can reach.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { RowmillError } from '../core/errors/rowmill-error.ts';

export interface MetricsAddress {
  host: string;
  /** 0 picks any free port. */
  port: number;
}

export async function serveMetrics(
  registry: Registry,
  { host, port }: MetricsAddress,
): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, text: string): void => {
      response.writeHead(status, { 'content-type': type }).end(text);
    };
    const plain = 'text/plain; charset=utf-8';
    if (request.method !== 'GET' && request.method !== 'HEAD') answer(405, plain, 'only GET\n');
    else if (request.url === '/healthz') answer(200, plain, 'ok\n');
    else if (request.url === '/metrics')
      registry.metrics().then(
        (text) => answer(200, registry.contentType, text),
        (error: unknown) => answer(500, plain, `${String(error)}\n`),
      );
    else answer(404, plain, 'not found: try /metrics or /healthz\n');
  });
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    throw new RowmillError(
      'API_ADDRESS_REFUSED',
      `cannot listen on ${host}, port ${port}: ${(error as Error).message}`,
      {
        hint: 'Stop the process that listens there, or choose another port: --metrics-port 9465',
        cause: error,
      },
    );
  });
  // This server does not keep the process alive.
  server.unref();
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shown}:${(server.address() as AddressInfo).port}/metrics`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

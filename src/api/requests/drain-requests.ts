// Gives running requests some time when the server stops. New requests are refused meanwhile, on connections that
// close after the answer, so that clients switch to another server before a connection breaks.
import type { FastifyInstance } from 'fastify';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { waitMs } from '../../platform/clock.ts';

/** Connections that were accepted but not read when the server began to stop are still answered for this long. */
const LINGER_MS = 250;

/**
 * Call it before the server listens. `close` then waits up to `graceMs` for requests, and closes their connections
 * after that.
 */
export function drainRequests(server: FastifyInstance, graceMs: number): void {
  let underWay = 0;
  let isStopping = false;
  let whenNone: (() => void) | null = null;
  server.server.on('request', (_request, response) => {
    underWay += 1;
    // Answers that start from now on close their connection.
    if (isStopping) response.setHeader('connection', 'close');
    response.once('close', () => {
      underWay -= 1;
      if (underWay === 0) whenNone?.();
    });
  });
  server.addHook('onRequest', async () => {
    if (isStopping) throw new RowmillError('SERVER_STOPPING', 'the server is stopping');
  });
  // Requests that were already running: their connections are not reused.
  server.addHook('onSend', async (_request, reply) => {
    if (isStopping) void reply.header('connection', 'close');
  });
  server.addHook('preClose', async () => {
    isStopping = true;
    if (graceMs === 0) return;
    await waitMs(Math.min(LINGER_MS, graceMs));
    if (underWay === 0) return;
    const done = new AbortController();
    whenNone = () => done.abort();
    await waitMs(graceMs, done.signal);
  });
}

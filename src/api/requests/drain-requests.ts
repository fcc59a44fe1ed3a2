// At the end of a server the requests under way get some time. New ones are refused meanwhile, on connections that close
// after the answer, so that clients go elsewhere instead of meeting a connection that breaks.
import type { FastifyInstance } from 'fastify';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { waitMs } from '../../platform/clock.ts';

/** Connections that were accepted but not read when the server was told to stop are still answered for this long. */
const LINGER_MS = 250;

/** To be called before the server listens. Its `close` waits so long for requests, and then ends their connections. */
export function drainRequests(server: FastifyInstance, graceMs: number): void {
  let underWay = 0;
  let isStopping = false;
  let whenNone: (() => void) | null = null;
  server.server.on('request', (_request, response) => {
    underWay += 1;
    // Answers that begin from now on end their connection.
    if (isStopping) response.setHeader('connection', 'close');
    response.once('close', () => {
      underWay -= 1;
      if (underWay === 0) whenNone?.();
    });
  });
  server.addHook('onRequest', async () => {
    if (isStopping) throw new RowmillError('SERVER_STOPPING', 'the server is stopping');
  });
  // Requests that began before: their connections carry no further one.
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

// At the end of a server the requests under way get some time; new ones are refused meanwhile.
import type { FastifyInstance } from 'fastify';
import { waitMs } from '../platform/clock.ts';

/** To be called before the server listens. Its `close` waits so long for requests, and then ends their connections. */
export function drainRequests(server: FastifyInstance, graceMs: number): void {
  let underWay = 0;
  let whenNone: (() => void) | null = null;
  server.server.on('request', (_request, response) => {
    underWay += 1;
    response.once('close', () => {
      underWay -= 1;
      if (underWay === 0) whenNone?.();
    });
  });
  server.addHook('preClose', async () => {
    if (underWay === 0 || graceMs === 0) return;
    const done = new AbortController();
    whenNone = () => done.abort();
    await waitMs(graceMs, done.signal);
  });
}

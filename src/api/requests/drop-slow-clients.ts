// A client that dribbles the body of its request, or goes on with it after it was answered, would hold a connection for as
// long as it likes. The parts of uploads have limits of their own (receive-upload.ts).
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Settings } from '../../platform/settings.ts';
import type { BodyBounds } from './hold-body.ts';
import { drainRest } from '../files/receive-upload.ts';

export function dropSlowSenders(
  app: FastifyInstance,
  settings: Pick<Settings, BodyBounds['bodyMsName']>,
): void {
  app.addHook('onRequest', async (request, reply) => {
    const { headers, raw } = request;
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return;
    const { bodyMsName = 'apiBodyMs' } = request.routeOptions.config as Partial<BodyBounds>;
    const bodyMs = settings[bodyMsName];
    const timer = /^multipart\//i.test(headers['content-type'] ?? '')
      ? undefined
      : setTimeout(() => {
          if (raw.complete || reply.sent) return;
          const message = `expected the whole body within ${bodyMs} ms (${bodyMsName})`;
          void reply.send(new RowmillError('REQUEST_INVALID', message));
        }, bodyMs);
    for (const event of ['end', 'close']) raw.once(event, () => clearTimeout(timer));
    reply.raw.once('finish', () => {
      clearTimeout(timer);
      if (!raw.complete) drainRest(request);
    });
  });
}

/** A client that takes nothing of what it asked for holds memory, and during a download also a place among the exports. */
export function dropIdleReader(response: ServerResponse, idleMs: number): void {
  response.setTimeout(idleMs, () => {
    const { socket } = response;
    if (!socket) return;
    // Nothing waits for the reader: it is us who take our time.
    if (socket.writableLength === 0 && response.writableLength === 0) socket.setTimeout(idleMs);
    else socket.destroy();
  });
}

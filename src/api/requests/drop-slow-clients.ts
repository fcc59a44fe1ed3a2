// Drops clients that send a body very slowly, or keep sending after the answer: they would hold a connection
// indefinitely. Upload parts have their own limits (receive-upload.ts).
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

/** Drops a client that does not read its answer: it holds memory and, during a download, an export slot. */
export function dropIdleReader(response: ServerResponse, idleMs: number): void {
  response.setTimeout(idleMs, () => {
    const { socket } = response;
    if (!socket) return;
    // No bytes are waiting for the reader, so the server is the slow side.
    if (socket.writableLength === 0 && response.writableLength === 0) socket.setTimeout(idleMs);
    else socket.destroy();
  });
}

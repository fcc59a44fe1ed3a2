// Limits client connections, in total and per address. A connection over the limit is closed within a second, and gets
// a refusal if it sends its request before that.
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Gauge } from 'prom-client';
import { addressGroup } from '../../core/accounts/address-group.ts';
import type { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Settings } from '../../platform/settings.ts';
import { RetryLaterError } from './answer-error.ts';
import { Slots } from './slots.ts';

/** Time a refused connection has to send its request and read the answer. */
const REFUSED_MS = 1000;
const RETRY_MS = 5000;

type Bounds = Pick<Settings, 'apiSocketsAtOnce' | 'apiSocketsAtOnceAddress' | 'apiTrustedProxies'>;

export function boundConnections(app: FastifyInstance, settings: Bounds, { registry }: Metrics): void {
  const slots = new Slots();
  const seen = new WeakMap<Socket, RowmillError | null>();
  let open = 0;
  const take = (socket: Socket): RowmillError | null => {
    const known = seen.get(socket);
    if (known !== undefined) return known;
    const taken = takePlaces(slots, socket, settings);
    const refusal = taken instanceof RetryLaterError ? taken : null;
    seen.set(socket, refusal);
    open += 1;
    const timer = refusal && setTimeout(() => socket.destroy(), REFUSED_MS);
    socket.once('close', () => {
      open -= 1;
      if (timer) clearTimeout(timer);
      if (!(taken instanceof RetryLaterError)) taken();
    });
    return refusal;
  };
  // Refused connections stay open for a moment; beyond this number they are closed without an answer.
  app.server.maxConnections = settings.apiSocketsAtOnce * 2;
  app.server.on('connection', take);
  // A second listening address has its own server object, whose connections are only seen here.
  app.addHook('onRequest', async (request, reply) => {
    const refusal = take(request.raw.socket);
    if (refusal === null) return;
    void reply.header('connection', 'close');
    throw refusal;
  });
  new Gauge({
    name: 'rowmill_http_connections',
    help: 'Open client connections',
    registers: [registry],
    collect() {
      this.set(open);
    },
  });
}

/** Returns a function that releases both slots, or the refusal. */
function takePlaces(slots: Slots, socket: Socket, settings: Bounds): (() => void) | RetryLaterError {
  const { apiSocketsAtOnce, apiSocketsAtOnceAddress, apiTrustedProxies } = settings;
  const ofAll = slots.take('', apiSocketsAtOnce);
  if (!ofAll)
    return new RetryLaterError(
      'SERVER_BUSY',
      `the server has reached its limit of ${apiSocketsAtOnce} connections (apiSocketsAtOnce)`,
      RETRY_MS,
    );
  // Behind a proxy all connections come from its address.
  const max = apiTrustedProxies > 0 ? apiSocketsAtOnce : apiSocketsAtOnceAddress;
  const ofAddress = slots.take(`address ${addressGroup(socket.remoteAddress ?? '')}`, max);
  if (!ofAddress) {
    ofAll();
    return new RetryLaterError(
      'RATE_LIMITED',
      `expected at most ${max} connections from one address at once (apiSocketsAtOnceAddress)`,
      RETRY_MS,
    );
  }
  return () => {
    ofAll();
    ofAddress();
  };
}

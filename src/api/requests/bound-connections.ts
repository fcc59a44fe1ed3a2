// Bounds the connections of clients, in all and from one address. A connection over the bound is answered if its request
// comes at once, and closed in any case.
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Gauge } from 'prom-client';
import { addressGroup } from '../../core/accounts/address-group.ts';
import type { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Settings } from '../../platform/settings.ts';
import { RetryLaterError } from './answer-error.ts';
import { Slots } from './slots.ts';

/** How long a refused connection may take to send its request and read the answer. */
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
  // Refused connections stay open for a moment; beyond this number they get no answer either.
  app.server.maxConnections = settings.apiSocketsAtOnce * 2;
  app.server.on('connection', take);
  // A second address that the server listens on has a server of its own, whose connections are met here.
  app.addHook('onRequest', async (request, reply) => {
    const refusal = take(request.raw.socket);
    if (refusal === null) return;
    void reply.header('connection', 'close');
    throw refusal;
  });
  new Gauge({
    name: 'rowmill_http_connections',
    help: 'Connections of clients',
    registers: [registry],
    collect() {
      this.set(open);
    },
  });
}

/** Gives the places back when called; or why there is none. */
function takePlaces(slots: Slots, socket: Socket, settings: Bounds): (() => void) | RetryLaterError {
  const { apiSocketsAtOnce, apiSocketsAtOnceAddress, apiTrustedProxies } = settings;
  const ofAll = slots.take('', apiSocketsAtOnce);
  if (!ofAll)
    return new RetryLaterError(
      'SERVER_BUSY',
      `the server has ${apiSocketsAtOnce} connections, and takes no more at once (apiSocketsAtOnce)`,
      RETRY_MS,
    );
  // All connections of a proxy come from its address.
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

/**
 * A local stand-in for a paid, flaky price service: `GET /price?sku=...`. It limits the rate, fails, hangs and resets
 * connections at the configured rates, and keeps an exact ledger of its calls. The answer to a call depends only on
 * the seed, the sku and the number of earlier calls admitted for that sku, not on the order or timing of calls. A call
 * refused with 429 is not admitted, because refusals depend on timing.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { seededDraw } from '../seeded-draw.ts';
import { createTokenBucket } from '../token-bucket.ts';

export interface PriceServiceOptions {
  seed: number;
  /** Default 0: the system chooses a port. */
  port?: number;
  latencyMs: readonly [min: number, max: number];
  /** Token bucket that holds one second's worth. */
  rateLimitPerSecond?: number;
  concurrencyLimit?: number;
  /** Rates are shares of calls from 0 to 1. `notFoundRate` is a share of skus: a sku is always or never found. */
  error5xxRate: number;
  notFoundRate: number;
  hangRate?: number;
  resetRate?: number;
}

/**
 * `hung` never gets an answer, `reset` loses its connection, `abandoned` means that the caller disconnected before the
 * answer.
 */
type PriceAnswer = '200' | '400' | '404' | '429' | '500' | '502' | '503' | 'hung' | 'reset' | 'abandoned';

interface SkuLedger {
  calls: number;
  /** Admitted calls, that is, calls not refused with 429. */
  attempts: number;
  answers: Partial<Record<PriceAnswer, number>>;
  /** Number of calls with each `Idempotency-Key`. */
  idempotencyKeys: Map<string, number>;
}

interface PriceServiceStats {
  calls: number;
  answers: Partial<Record<PriceAnswer, number>>;
  maxInFlight: number;
  skus: Map<string, SkuLedger>;
}

export interface PriceService {
  url: string;
  /** A copy of the current ledger. */
  stats(): PriceServiceStats;
  /** Closes open connections, so that waiting calls fail. */
  stop(): Promise<void>;
}

type AttemptAnswer = Exclude<PriceAnswer, '400' | '429' | 'abandoned'>;

/** Price of a sku; null if the service does not know it. */
export function priceOf(
  options: Pick<PriceServiceOptions, 'seed' | 'notFoundRate'>,
  sku: string,
): number | null {
  if (seededDraw(options.seed, 'found', sku) < options.notFoundRate) return null;
  return Math.round(99 + seededDraw(options.seed, 'price', sku) * 99_900) / 100;
}

/** Answer to the nth (from 1) admitted call for a sku. */
export function answerTo(options: PriceServiceOptions, sku: string, attempt: number): AttemptAnswer {
  const { seed, hangRate = 0, resetRate = 0, error5xxRate } = options;
  const fate = seededDraw(seed, 'fate', sku, attempt);
  if (fate < hangRate) return 'hung';
  if (fate < hangRate + resetRate) return 'reset';
  if (fate < hangRate + resetRate + error5xxRate) {
    const kinds = ['500', '502', '503'] as const;
    return kinds[Math.floor(seededDraw(seed, '5xx', sku, attempt) * kinds.length)]!;
  }
  return priceOf(options, sku) === null ? '404' : '200';
}

export async function startPriceService(options: PriceServiceOptions): Promise<PriceService> {
  checkOptions(options);
  const { seed, latencyMs, concurrencyLimit = Number.POSITIVE_INFINITY } = options;
  const bucket =
    options.rateLimitPerSecond === undefined ? null : createTokenBucket(options.rateLimitPerSecond);
  const ledger: PriceServiceStats = { calls: 0, answers: {}, maxInFlight: 0, skus: new Map() };
  let inFlight = 0;

  const server = createServer((request, response) => {
    ledger.calls += 1;
    const [path, query] = (request.url ?? '').split('?', 2);
    const sku = new URLSearchParams(query).get('sku');
    // A wrong URL must not look like an unknown product, so it gets a 400 and not a 404.
    if (request.method !== 'GET' || path !== '/price' || !sku) {
      count(ledger.answers, '400');
      return send(response, 400, { error: 'expected GET /price?sku=...' });
    }
    const entry = openEntry(ledger, sku, request);
    const refusedMs = inFlight >= concurrencyLimit ? Math.max(1, latencyMs[1]) : (bucket?.take() ?? 0);
    if (refusedMs > 0) {
      settle(entry, '429');
      return refuse(response, refusedMs);
    }
    entry.attempts += 1;
    inFlight += 1;
    ledger.maxInFlight = Math.max(ledger.maxInFlight, inFlight);
    serveAttempt(response, sku, entry);
  });

  function serveAttempt(response: ServerResponse, sku: string, entry: SkuLedger): void {
    const answer = answerTo(options, sku, entry.attempts);
    const [minMs, maxMs] = latencyMs;
    const waitMs = minMs + seededDraw(seed, 'latency', sku, entry.attempts) * (maxMs - minMs);
    let isOpen = true;
    // The slot is free before the caller can read the answer, so that its next call is not refused because of this
    // one.
    const leave = () => {
      if (isOpen) inFlight -= 1;
      isOpen = false;
    };
    if (answer === 'hung') {
      settle(entry, 'hung');
      response.once('close', leave);
      return;
    }
    const timer = setTimeout(() => {
      settle(entry, answer);
      leave();
      if (answer === 'reset') response.socket?.resetAndDestroy();
      else sendAnswer(response, sku, answer);
    }, waitMs);
    response.once('close', () => {
      if (!isOpen) return;
      clearTimeout(timer);
      settle(entry, 'abandoned');
      leave();
    });
  }

  function sendAnswer(response: ServerResponse, sku: string, answer: AttemptAnswer): void {
    if (answer === '200') send(response, 200, { sku, price: priceOf(options, sku), currency: 'EUR' });
    else if (answer === '404') send(response, 404, { error: `no product ${sku}` });
    else send(response, Number(answer), { error: 'the price service is having a bad moment' });
  }

  function settle(entry: SkuLedger, answer: PriceAnswer): void {
    count(entry.answers, answer);
    count(ledger.answers, answer);
  }

  // Longer than any pause between two calls: closing an idle connection would look like a reset.
  server.keepAliveTimeout = 60_000;
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}`,
    stats: () => structuredClone(ledger),
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function openEntry(ledger: PriceServiceStats, sku: string, request: IncomingMessage): SkuLedger {
  let entry = ledger.skus.get(sku);
  if (!entry) {
    entry = { calls: 0, attempts: 0, answers: {}, idempotencyKeys: new Map() };
    ledger.skus.set(sku, entry);
  }
  entry.calls += 1;
  const key = request.headers['idempotency-key'];
  if (typeof key === 'string') entry.idempotencyKeys.set(key, (entry.idempotencyKeys.get(key) ?? 0) + 1);
  return entry;
}

function count(answers: PriceServiceStats['answers'], answer: PriceAnswer): void {
  answers[answer] = (answers[answer] ?? 0) + 1;
}

/** Retry-After allows only whole seconds; several vendors add the exact time in their own header. */
function refuse(response: ServerResponse, waitMs: number): void {
  response.setHeader('retry-after', String(Math.max(1, Math.ceil(waitMs / 1000))));
  response.setHeader('retry-after-ms', String(Math.ceil(waitMs)));
  send(response, 429, { error: 'too many requests' });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function checkOptions(options: PriceServiceOptions): void {
  const { latencyMs, error5xxRate, notFoundRate, hangRate = 0, resetRate = 0, rateLimitPerSecond } = options;
  for (const [name, rate] of Object.entries({ error5xxRate, notFoundRate, hangRate, resetRate })) {
    if (!(rate >= 0 && rate <= 1)) throw new RangeError(`expected ${name} to be from 0 to 1, got ${rate}`);
  }
  const failures = error5xxRate + hangRate + resetRate;
  if (failures > 1)
    throw new RangeError(`expected the failure rates to add up to at most 1, got ${failures}`);
  if (!(latencyMs[0] >= 0 && latencyMs[0] <= latencyMs[1])) {
    throw new RangeError(
      `expected latencyMs to be [min, max] with 0 <= min <= max, got [${latencyMs.join(', ')}]`,
    );
  }
  if (rateLimitPerSecond !== undefined && !(rateLimitPerSecond > 0)) {
    throw new RangeError(`expected rateLimitPerSecond to be above 0, got ${rateLimitPerSecond}`);
  }
}

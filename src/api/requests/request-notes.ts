// What requests took: for Prometheus by route, in the log when one was slow, and for lists where the page began and ended.
import { Histogram } from 'prom-client';
import type { RouteName } from '../../contract/routes.ts';
import type { ApiContext } from '../api-context.ts';

const BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000];
/** Its caller chooses how long it takes. */
const LONG_ROUTE: RouteName = 'sliceJob';

export class RequestNotes {
  readonly #log: ApiContext['log'];
  readonly #slowMs: number;
  readonly #ms: Histogram<'route'>;

  constructor({ log, engine, metrics }: Pick<ApiContext, 'log' | 'engine' | 'metrics'>) {
    this.#log = log;
    this.#slowMs = engine.settings.apiSlowMs;
    this.#ms = new Histogram({
      name: 'rowmill_request_ms',
      help: 'From the parsed request to the answer of its handler',
      labelNames: ['route'],
      buckets: BUCKETS_MS,
      registers: [metrics.registry],
    });
  }

  /** Cursors are shown as handlers have them: which row a page began at can be read from them. */
  note(route: RouteName, ms: number, { requestId, query, answer }: Noted): void {
    this.#ms.observe({ route }, ms);
    const isSlow = ms >= this.#slowMs && route !== LONG_ROUTE;
    const page = pageOf(query, answer);
    if (!isSlow && page === null) return;
    const detail = { requestId, route, ms: Math.round(ms), ...page };
    if (isSlow) this.#log.warn(detail, 'slow request');
    else this.#log.debug(detail, 'list page served');
  }
}

interface Noted {
  requestId: string;
  query: unknown;
  answer: unknown;
}

function pageOf(query: unknown, answer: unknown): { cursor: unknown; next: unknown; rows: number } | null {
  if (typeof answer !== 'object' || answer === null || !('next' in answer) || !('items' in answer))
    return null;
  const { items, next } = answer;
  if (!Array.isArray(items)) return null;
  const { cursor = null } = (query ?? {}) as { cursor?: unknown };
  return { cursor, next, rows: items.length };
}

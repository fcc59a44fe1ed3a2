/**
 * Serves a generated site on loopback, one port per host. The last host answers 429 with Retry-After when it is called
 * too often, and to its first caller. A page is in the cache from its second request on. The server counts its calls,
 * so that a crawl can be checked from the other side.
 */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LIMITED_HOST, type Site, type SitePage } from './generate-site.ts';

const SLOW_MS = 400;

export interface HostStats {
  name: string;
  calls: number;
  refused: number;
  /** Maximum number of concurrent calls. */
  mostAtOnce: number;
}

export interface RunningSite {
  /** Hosts as they appear in URLs: name and port. */
  hosts: string[];
  startUrl: string;
  urlOf(id: number): string;
  stats(): {
    hosts: HostStats[] /** Number of answers other than 429, by page. */;
    calls: Map<number, number>;
  };
  stop(): Promise<void>;
}

export interface ServeOptions {
  latencyMs?: readonly [min: number, max: number];
  /** Rate limit of the limited host, which allows a burst of one second's worth. */
  limitPerSecond?: number;
}

export async function startSite(site: Site, options: ServeOptions = {}): Promise<RunningSite> {
  const { latencyMs = [1, 15], limitPerSecond = 40 } = options;
  const byAddress = new Map(site.pages.map((page) => [`${page.host} ${page.path}`, page]));
  const calls = new Map<number, number>();
  const bucket = createBucket(limitPerSecond);
  const stats: HostStats[] = site.hosts.map((name) => ({ name, calls: 0, refused: 0, mostAtOnce: 0 }));
  const servers: Server[] = site.hosts.map((_, host) => {
    let atOnce = 0;
    return createServer((request, response) => {
      const own = stats[host]!;
      own.calls += 1;
      const page = byAddress.get(`${host} ${request.url}`);
      if (host === LIMITED_HOST && !bucket.take()) {
        own.refused += 1;
        response.writeHead(429, { 'retry-after': '1' }).end();
        return;
      }
      atOnce += 1;
      own.mostAtOnce = Math.max(own.mostAtOnce, atOnce);
      const call = page === undefined ? 0 : (calls.get(page.id) ?? 0) + 1;
      if (page !== undefined) calls.set(page.id, call);
      const waitMs = page?.kind === 'slow' && call === 1 ? SLOW_MS : drawMs(latencyMs, page?.id ?? 0, call);
      setTimeout(() => {
        // Decremented before the caller can read the answer, so that its next call does not overlap with this one.
        atOnce -= 1;
        answer(response, page, call, waitMs);
      }, waitMs);
    });
  });
  for (const server of servers) {
    // Longer than any pause between two calls: closing an idle connection would look like a failure.
    server.keepAliveTimeout = 60_000;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const hosts = servers.map((server) => `127.0.0.1:${(server.address() as AddressInfo).port}`);
  const urlOf = (id: number): string => `http://${hosts[site.pages[id]!.host]}${site.pages[id]!.path}`;

  function answer(response: ServerResponse, page: SitePage | undefined, call: number, waitMs: number): void {
    if (page === undefined || page.kind === 'missing') return send(response, 404, 'no such page');
    if (page.kind === 'down') return send(response, 500, 'out of order');
    if (page.kind === 'flaky' && call === 1) return send(response, 503, 'try again');
    if (page.kind === 'redirect') {
      response.writeHead(page.id % 2 ? 301 : 302, { location: urlOf(page.links[0]!) }).end();
      return;
    }
    // A flaky page was not cached by its failed first call.
    const isHit = call > (page.kind === 'flaky' ? 2 : 1) && page.kind !== 'uncached';
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'server-timing': `app;dur=${waitMs.toFixed(1)}`,
      'x-cache': page.kind === 'uncached' ? 'BYPASS' : isHit ? 'HIT' : 'MISS',
    });
    response.end(writeHtml(page));
  }

  function writeHtml(page: SitePage): string {
    const canonical =
      page.kind === 'alias' ? `<link rel="canonical" href="${escapeHtml(urlOf(page.links[0]!))}">` : '';
    const links = page.kind === 'alias' ? [] : page.links;
    const anchors = links.map(
      (to, n) => `<a class="x" href="${escapeHtml(writeLink(page, to, n))}">${to}</a>`,
    );
    const outside = [
      'https://example.org/',
      'mailto:shop@example.org',
      'javascript:void(0)',
      '#top',
      'http://',
    ];
    return `<!doctype html><html><head><title>Page ${page.id}</title>${canonical}</head><body>
      ${[...anchors, ...outside.map((link) => `<a href="${link}">outside</a>`)].join('\n')}</body></html>`;
  }

  /** Writes the same URL in the many ways that people write it. */
  function writeLink(from: SitePage, to: number, n: number): string {
    const target = site.pages[to]!;
    const relative = from.host === target.host;
    const address = relative ? target.path : urlOf(to);
    const [path, query] = address.split('?', 2) as [string, string | undefined];
    switch ((from.id + n) % 6) {
      case 1:
        return `${address}#reviews`;
      case 2:
        return `${address}${query === undefined ? '?' : '&'}utm_source=mail&utm_campaign=${n}`;
      case 3:
        return query === undefined ? (path.endsWith('/') ? `${path}index.html` : `${path}/`) : address;
      case 4:
        return query === undefined ? address : `${path}?${query.split('&').toReversed().join('&')}`;
      case 5:
        return relative ? `./..${address}` : address;
      default:
        return address;
    }
  }

  return {
    hosts,
    startUrl: urlOf(0),
    urlOf,
    stats: () => ({ hosts: structuredClone(stats), calls: new Map(calls) }),
    async stop() {
      await Promise.all(
        servers.map(async (server) => {
          const closed = once(server, 'close');
          server.close();
          server.closeAllConnections();
          await closed;
        }),
      );
    },
  };
}

/** Starts empty, so that the first caller is always refused. */
function createBucket(perSecond: number): { take(): boolean } {
  let tokens = 0;
  let filledMs: number | null = null;
  return {
    take() {
      const nowMs = performance.now();
      tokens = Math.min(perSecond, tokens + ((nowMs - (filledMs ?? nowMs)) / 1000) * perSecond);
      filledMs = nowMs;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}

function send(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(text);
}

/** A latency in the range that depends only on the page and the number of the call. */
function drawMs([min, max]: readonly [number, number], id: number, call: number): number {
  return min + (((id * 7919 + call * 104_729) % 1000) / 1000) * (max - min);
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
}

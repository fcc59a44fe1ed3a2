// Crawls a site: every page once, politely, nearer pages first. Reports broken links, slow pages, and whether a second
// request is served from the cache.
import { definePipeline, httpError, notFound, resource, skip } from 'rowmill';
import { z } from 'zod';

const SLOW_MS = 250;
/** Tracking parameters, which do not change the page. */
const TRACKING = /^(utm_\w+|gclid|fbclid|ref)$/i;

/** Normalizes a URL, so that a page is crawled once however its URL is written. The result is the key of the row. */
export function normalizeUrl(link: string, base?: string): string | null {
  if (!URL.canParse(link, base)) return null;
  const url = new URL(link, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  url.hash = '';
  url.username = '';
  url.password = '';
  for (const name of [...url.searchParams.keys()]) if (TRACKING.test(name)) url.searchParams.delete(name);
  url.searchParams.sort();
  url.pathname = url.pathname.replace(/\/{2,}/g, '/').replace(/\/index\.html?$/i, '/');
  if (url.pathname !== '/') url.pathname = url.pathname.replace(/\/$/, '');
  return url.href;
}

const hostOf = ({ url }: { url: string }): string => new URL(url).host;

interface Page {
  status: number;
  /** Duration reported by the server, or the measured one if it reports none. */
  ms: number;
  cache: string;
  headers: Headers;
  html: string;
}

async function fetchPage(url: string, signal: AbortSignal): Promise<Page> {
  const sentMs = performance.now();
  // A redirect is a page of its own: its target may have been crawled already.
  const response = await fetch(url, { signal, redirect: 'manual' });
  const { status, headers } = response;
  // 429 stops this host for the time in Retry-After, and 5xx is retried. Other answers are about the page.
  if (status === 429 || status >= 500) throw httpError(response);
  const html = await response.text();
  const told = /\bdur=([\d.]+)/.exec(headers.get('server-timing') ?? '')?.[1];
  const ms = Math.round(told === undefined ? performance.now() - sentMs : Number(told));
  return { status, ms, cache: headers.get('x-cache') ?? 'none', headers, html };
}

function attributes(html: string, pattern: RegExp): string[] {
  return [...html.matchAll(pattern)].map(([, value]) => value!.replaceAll('&amp;', '&'));
}

export const crawler = definePipeline({
  name: 'crawler',
  // The fields besides the URL are set on emitted rows; the start list has only URLs.
  input: z.object({ url: z.url(), depth: z.coerce.number().default(0), from: z.string().default('') }),
  params: z.object({ hosts: z.array(z.string()).min(1) }),
  key: 'url',
  summary: ['url', 'from'],
  resources: { host: { concurrency: 6, minDelayMs: 5 } },
  phases: [
    {
      name: 'fetch',
      concurrency: 48,
      timeoutMs: 20_000,
      resources: [resource('host', hostOf)],
      retry: { not_found: { maxAttempts: 1 }, overloaded: { maxAttempts: 3, baseMs: 200 } },
      run: async ({ url, depth, from }, { emit, params: { hosts }, signal }) => {
        const discover = (link: string, atDepth: number): string | null => {
          const found = normalizeUrl(link, url);
          if (found === null || !hosts.includes(new URL(found).host)) return null;
          // Pages nearer to the start run sooner.
          if (found !== url) emit(found, { url: found, depth: atDepth, from: url }, { priority: -atDepth });
          return found;
        };
        const { status, ms, cache, headers, html } = await fetchPage(url, signal);
        if (status === 404 || status === 410) return notFound(`broken link on ${from}`);
        const location = headers.get('location');
        if (status >= 300 && status < 400 && location !== null) {
          discover(location, depth);
          return skip(`redirects to ${normalizeUrl(location, url) ?? location}`);
        }
        if (status >= 400) throw httpError({ status, headers, url });
        const canonical = attributes(html, /<link rel="canonical" href="([^"]*)"/g)[0];
        const real = canonical === undefined ? url : normalizeUrl(canonical, url);
        if (real !== url && real !== null) {
          discover(real, depth);
          return skip(`the same page as ${real}`);
        }
        const links = attributes(html, /<a [^>]*href="([^"]*)"/g).map((link) => discover(link, depth + 1));
        const title = attributes(html, /<title>([^<]*)/g)[0] ?? '';
        const inside = new Set(links.filter((link) => link !== null)).size;
        return { status, title, ms, slow: ms >= SLOW_MS, links: inside, cache };
      },
    },
    {
      // A separate phase, so that the first result is stored before the page is requested again.
      name: 'warm',
      concurrency: 48,
      timeoutMs: 20_000,
      resources: [resource('host', hostOf)],
      retry: { overloaded: { maxAttempts: 3, baseMs: 200 } },
      run: async ({ url }, { previous, signal }) => {
        const { cache, ms } = await fetchPage(url, signal);
        return { ...previous, warm: cache === 'HIT', secondCache: cache, secondMs: ms };
      },
    },
  ],
});

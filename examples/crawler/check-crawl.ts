// Compares a crawl with what the generator knows: every reachable page once, and no other page.
import type { Rowmill } from 'rowmill';
import { type ExpectedPage, reachablePages, type Site } from './generate-site.ts';
import type { RunningSite } from './start-site.ts';

export interface CrawledPage {
  url: string;
  from: string;
  status: string;
  slow: boolean | null;
  warm: boolean | null;
  title: string;
  ms: number;
  /** Reason why it was skipped, not found or failed. */
  reason: string;
}

export interface CrawlCheck {
  pages: CrawledPage[];
  expected: number;
  /** Share of the expected pages that are exactly right. */
  accuracy: number;
  /** Descriptions of the first few problems. */
  problems: string[];
}

type PageRow = { title?: string; ms?: number; slow?: boolean; warm?: boolean; reason?: string } | null;

export async function readCrawl(rowmill: Rowmill, jobId: string): Promise<CrawledPage[]> {
  const pages: CrawledPage[] = [];
  for await (const { input, status, result, error } of rowmill.results(jobId)) {
    const {
      title = '',
      ms = 0,
      slow = null,
      warm = null,
      reason = error ?? '',
    } = (result ?? {}) as NonNullable<PageRow>;
    pages.push({
      url: String(input.url),
      from: String(input.from ?? ''),
      status,
      slow,
      warm,
      title,
      ms,
      reason,
    });
  }
  return pages;
}

export function checkCrawl(
  site: Site,
  running: Pick<RunningSite, 'urlOf'>,
  pages: CrawledPage[],
): CrawlCheck {
  const expected = new Map([...reachablePages(site).values()].map((page) => [running.urlOf(page.id), page]));
  const problems: string[] = [];
  const seen = new Set<string>();
  let right = 0;
  for (const page of pages) {
    const known = expected.get(page.url);
    if (seen.has(page.url)) problems.push(`${page.url} was crawled twice`);
    else if (known === undefined) problems.push(`${page.url} was crawled although it is not reachable`);
    else if (!isAsExpected(page, known))
      problems.push(`${page.url} is ${describe(page)}, expected ${describe(known)}`);
    else right += 1;
    seen.add(page.url);
  }
  for (const url of expected.keys()) if (!seen.has(url)) problems.push(`${url} was not crawled`);
  return { pages, expected: expected.size, accuracy: right / expected.size, problems };
}

function isAsExpected(page: CrawledPage, expected: ExpectedPage): boolean {
  if (page.status !== expected.status) return false;
  return page.status !== 'DONE' || (page.slow === expected.slow && page.warm === expected.warm);
}

function describe({ status, slow, warm }: Pick<CrawledPage, 'status' | 'slow' | 'warm'>): string {
  return status === 'DONE' ? `DONE, ${slow ? 'slow' : 'quick'}, ${warm ? 'warm' : 'cold'}` : status;
}

/**
 * Generates a seeded site over several hosts, with typical problems for crawlers: loops, redirects in a circle, the
 * same page under several URLs, links written in many ways, and pages that are missing, slow, broken, or not linked
 * anywhere. The generator knows which pages are reachable from the start, and what a crawler must find there.
 */
import { seededSequence } from '../seeded-sequence.ts';

export type PageKind = 'page' | 'slow' | 'uncached' | 'flaky' | 'down' | 'redirect' | 'alias' | 'missing';

export interface SitePage {
  id: number;
  host: number;
  path: string;
  kind: PageKind;
  /** Pages it links to; for a redirect or an alias, its one target page. */
  links: number[];
}

export interface Site {
  seed: number;
  hosts: readonly string[];
  pages: readonly SitePage[];
}

export interface SiteOptions {
  pages: number;
  seed: number;
}

/** The last host limits its callers, and has one page in twenty-five. */
export const HOSTS = ['www', 'shop', 'blog', 'docs', 'help'] as const;
export const LIMITED_HOST = HOSTS.length - 1;

const KINDS: readonly { kind: PageKind; rate: number }[] = [
  { kind: 'missing', rate: 0.03 },
  { kind: 'redirect', rate: 0.06 },
  { kind: 'alias', rate: 0.05 },
  { kind: 'slow', rate: 0.01 },
  { kind: 'uncached', rate: 0.04 },
  { kind: 'flaky', rate: 0.01 },
  { kind: 'down', rate: 0.005 },
];
/** One page in this many is not reachable through any link. */
const ISLAND_EVERY = 40;
const CHILDREN = 6;
const EXTRA_LINKS = 7;

export function generateSite({ pages: count, seed }: SiteOptions): Site {
  const random = seededSequence(seed);
  const pages: SitePage[] = [];
  for (let id = 0; id < count; id += 1) {
    const host = id === 0 ? 0 : random() < 0.04 ? LIMITED_HOST : Math.floor(random() * LIMITED_HOST);
    const kind = id === 0 ? 'page' : drawKind(random());
    pages.push({ id, host, path: id === 0 ? '/' : pathOf(id, random()), kind, links: [] });
  }
  const isIsland = (id: number): boolean => id > 0 && id % ISLAND_EVERY === 0;
  /** Redirects, aliases, missing and failing pages have no links to other pages. */
  const hasLinks = ({ kind }: SitePage): boolean => !['redirect', 'alias', 'missing', 'down'].includes(kind);
  const any = (): number => Math.floor(random() * count);
  for (const page of pages) {
    // Each page except the islands is in a tree, so that it is reachable.
    let parent = Math.floor((page.id - 1) / CHILDREN);
    while (parent > 0 && (!hasLinks(pages[parent]!) || isIsland(parent))) parent -= 1;
    if (page.id > 0 && !isIsland(page.id)) pages[parent]!.links.push(page.id);
    if (page.kind === 'redirect') page.links = [any()];
    if (page.kind === 'alias') page.links = [earlierRealPage(pages, page.id)];
  }
  for (const page of pages) {
    if (!hasLinks(page)) continue;
    for (let n = 0; n < EXTRA_LINKS; n += 1) {
      const to = any();
      if (!isIsland(to) || isIsland(page.id)) page.links.push(to);
    }
  }
  // Two redirects that point to each other.
  const [first, second] = pages.filter(({ kind, id }) => kind === 'redirect' && !isIsland(id));
  if (first && second) {
    first.links = [second.id];
    second.links = [first.id];
  }
  return { seed, hosts: HOSTS, pages };
}

export interface ExpectedPage {
  id: number;
  status: 'DONE' | 'NOT_FOUND' | 'SKIPPED' | 'ERROR';
  slow: boolean;
  warm: boolean;
}

/** Expected result of a crawl that starts at the first page: every reachable page, and no other. */
export function reachablePages({ pages }: Site): Map<number, ExpectedPage> {
  const reached = new Map<number, ExpectedPage>();
  const frontier = [0];
  for (let id = frontier.pop(); id !== undefined; id = frontier.pop()) {
    if (reached.has(id)) continue;
    const { kind, links } = pages[id]!;
    reached.set(id, { id, status: statusOf(kind), slow: kind === 'slow', warm: kind !== 'uncached' });
    if (kind !== 'missing' && kind !== 'down') frontier.push(...links);
  }
  return reached;
}

function statusOf(kind: PageKind): ExpectedPage['status'] {
  if (kind === 'missing') return 'NOT_FOUND';
  if (kind === 'down') return 'ERROR';
  return kind === 'redirect' || kind === 'alias' ? 'SKIPPED' : 'DONE';
}

function drawKind(draw: number): PageKind {
  let upTo = 0;
  for (const { kind, rate } of KINDS) {
    upTo += rate;
    if (draw < upTo) return kind;
  }
  return 'page';
}

function earlierRealPage(pages: readonly SitePage[], id: number): number {
  let at = Math.floor(id / 2);
  while (!['page', 'slow', 'uncached'].includes(pages[at]!.kind)) at -= 1;
  return at;
}

function pathOf(id: number, draw: number): string {
  const folder = ['lamps', 'gießkannen', 'chairs', 'notes'][Math.floor(draw * 4)]!;
  return encodeURI(id % 7 === 0 ? `/${folder}?page=${id}&sort=price` : `/${folder}/${id}`);
}

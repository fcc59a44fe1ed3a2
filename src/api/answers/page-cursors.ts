// Paging for every list of the route table. Handlers use plain cursors; clients get signed ones that also hold the way
// back, and links in a header (RFC 8288).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../../contract/route.ts';
import { cursorOf, cursorParts } from '../../core/paging/cursor.ts';
import { type CursorTrail, trailBefore } from '../../core/paging/cursor-trail.ts';
import type { CursorSignature } from './cursor-signature.ts';
import { cutList, listWindow } from './cut-list.ts';

/** Proxies accept 4 KiB of headers. */
const LINKS_MAX = 3500;

interface PageQuery {
  limit: number;
  cursor?: string | undefined;
  fromSeq?: number | undefined;
}

interface Page {
  items: unknown[];
  next: string | null;
}

export interface OpenPage {
  /** The query as the handler gets it. */
  query: PageQuery;
  /** Turns the handler's answer into the one the client gets. */
  close(answered: object): Promise<object>;
}

/** Null if the route does not answer with a list. */
export async function openPage(
  route: Route,
  list: string,
  query: unknown,
  signature: CursorSignature,
): Promise<OpenPage | null> {
  if (!route.query || !('cursor' in route.query.shape)) return null;
  const asked = query as PageQuery;
  const trail = asked.cursor === undefined ? null : await signature.open(asked.cursor);
  const place = trail?.places.at(-1);
  const cursor = place && cursorOf(trail!.list, trail!.sort, place);
  const window = route.pagedBy && listWindow(list, route.pagedBy, cursor, asked.limit);
  return {
    query: { ...asked, cursor, ...(window && { limit: window.read }) },
    async close(answered) {
      const page = window ? cutList(window, (answered as Page).items) : (answered as Page);
      const before = trailBefore(trail);
      return {
        ...answered,
        ...page,
        next: page.next === null ? null : await signature.sign(trailBehind(trail, page.next, asked)),
        previous: before && (await signature.sign(before)),
      };
    },
  };
}

/** The way back of a list that started at a row (`fromSeq`) ends at that row, not at the beginning of the list. */
function trailBehind(trail: CursorTrail | null, next: string, { fromSeq }: PageQuery): CursorTrail {
  const { list, sort, key } = cursorParts(next);
  const first = fromSeq === undefined ? [] : [[fromSeq]];
  const { places, isCut } = trail ?? { places: first, isCut: first.length > 0 };
  return { list, sort, places: [...places, key], isCut };
}

/** Links have no host, so they work behind any proxy. `path` is the prefix of all of them. */
export function linkPages(reply: FastifyReply, raw: FastifyRequest, path: string, page: object): void {
  const { next, previous } = page as { next: string | null; previous: string | null };
  const [address = '', search = ''] = raw.originalUrl.split('?', 2);
  const own = address.startsWith(`${path}/`) ? address : path + address;
  const link = (relation: string, cursor: string | null): string => {
    const query = new URLSearchParams(search);
    for (const name of ['cursor', 'after']) query.delete(name);
    if (cursor !== null) {
      query.delete('fromSeq');
      query.set('cursor', cursor);
    }
    const text = query.toString();
    return `<${text === '' ? own : `${own}?${text}`}>; rel="${relation}"`;
  };
  const links = [
    link('first', null),
    ...(previous === null ? [] : [link('prev', previous)]),
    ...(next === null ? [] : [link('next', next)]),
  ];
  // Cursors too long for a header are only in the body.
  const text = links.join(', ');
  void reply.header('link', text.length <= LINKS_MAX ? text : links[0]);
}

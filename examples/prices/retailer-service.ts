/**
 * A stand-in for three retailers, a market index and a service that recognises things in photos: `GET
 * /<retailer>/search?title=&brand=`, `GET /market/search?title=` and `POST /recognise`. Each is a separate provider
 * that limits its callers, fails and can be down. A provider without offers answers 404.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type StandIn, type StandInCall, type StandInOptions, startStandIn } from '../stand-in-server.ts';
import type { Things } from './generate-things.ts';
import type { Photo } from './photo-set.ts';
import { RETAILERS } from './pipeline.ts';

export function startRetailerService(
  lists: readonly Things[],
  photos: readonly Photo[],
  options: StandInOptions,
): Promise<StandIn> {
  const shown = new Map(photos.map(({ bytes, thing }) => [sha256(bytes), thing]));

  function routeSearch({ method, url = '' }: IncomingMessage): StandInCall | null {
    const { pathname, searchParams } = new URL(url, 'http://stand-in');
    const provider = /^\/(\w+)\/search$/.exec(pathname)?.[1];
    const title = searchParams.get('title');
    if (method !== 'GET' || provider === undefined || title === null) return null;
    const asked = provider === 'market' ? RETAILERS : RETAILERS.filter((retailer) => retailer === provider);
    if (asked.length === 0) return null;
    const brand = searchParams.get('brand');
    const offers = lists
      .flatMap((list) => asked.flatMap((retailer) => list.offers(retailer, title)))
      .filter((offer) => brand === null || offer.brand === brand);
    return {
      provider,
      subject: brand === null ? title : `${brand}: ${title}`,
      answer: () =>
        offers.length === 0
          ? { status: 404, body: { error: 'no offers' } }
          : { status: 200, body: { offers } },
    };
  }

  function routePhoto({ method, url }: IncomingMessage, body: Buffer): StandInCall | null {
    if (method !== 'POST' || url !== '/recognise') return null;
    const subject = sha256(body);
    const thing = shown.get(subject);
    return {
      provider: 'recogniser',
      subject,
      answer: () => {
        if (!thing || thing.fate === 'unreadable') return { status: 404, body: { error: 'nothing there' } };
        const { title, brand, paid } = thing;
        return { status: 200, body: { title, brand, paid } };
      },
    };
  }

  return startStandIn(options, (request, body) => routePhoto(request, body) ?? routeSearch(request));
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Generates seeded things to price, and the offers of retailers for them. Each thing has a fate (sold as it is, sold
 * by another brand, sold only at other prices, sold nowhere), so the right result of its lookup is known.
 */
import { seededDraw } from '../seeded-draw.ts';
import { type Offer, RETAILERS } from './pipeline.ts';

export interface Thing {
  title: string;
  brand: string;
  quantity: number;
  paid: number;
  /** `unreadable`: an invalid price, or a photo that shows nothing. */
  fate: 'exact' | 'similar' | 'estimate' | 'unknown' | 'unreadable';
  /** Price and retailer that it will be found with; null if it is found nowhere. */
  price: number | null;
  retailer: string | null;
}

export interface Things {
  things: readonly Thing[];
  /** Offers of one retailer for a title, of all brands. */
  offers(retailer: string, title: string): readonly Offer[];
}

const KINDS = [
  'desk lamp',
  'Gießkanne',
  'monitor 27"',
  'kettle',
  'Bücherregal',
  'office chair, grey',
  'drill',
];
const BRANDS = ['Nordlicht', 'Acme, Inc.', 'Müller & Söhne', "O'Brien", 'LUMA', 'Tanaka 田中'];
const OTHER_BRAND = 'Noname';

/** `prefix` keeps lists apart: things of two lists never share a title. */
export function generateThings({
  count,
  seed,
  prefix,
}: {
  count: number;
  seed: number;
  prefix: string;
}): Things {
  const catalogue = new Map<string, Offer[]>();
  const sell = (retailer: string, { title }: { title: string }, brand: string, price: number): void => {
    const key = `${retailer}|${title}`;
    const url = `https://${retailer}.example/${encodeURIComponent(title)}/${catalogue.get(key)?.length ?? 0}`;
    catalogue.set(key, [...(catalogue.get(key) ?? []), { brand, price, url }]);
  };
  const things = Array.from({ length: count }, (_, n): Thing => {
    const draw = (what: string): number => seededDraw(seed, prefix, what, n);
    const pick = <T>(what: string, values: readonly T[]): T =>
      values[Math.floor(draw(what) * values.length)]!;
    const base = {
      title: `${pick('kind', KINDS)} ${prefix}-${n}`,
      brand: pick('brand', BRANDS),
      quantity: 1 + Math.floor(draw('quantity') ** 3 * 12),
      paid: money(20 + draw('paid') ** 2 * 900),
    };
    const fate = pickFate(draw('fate'));
    const at = Math.floor(draw('retailer') * RETAILERS.length);
    const retailer = RETAILERS[at]!;
    const price = money(base.paid * (1 + (draw('price') - 0.5) * 0.16));
    if (fate === 'exact') {
      // Retailers that are asked earlier offer it at too high a price, or not at all.
      for (const other of RETAILERS.slice(0, at))
        if (draw(other) < 0.5) sell(other, base, base.brand, money(base.paid * 1.5));
      sell(retailer, base, base.brand, money(base.paid * 1.095));
      sell(retailer, base, base.brand, price);
      return { ...base, fate, price, retailer };
    }
    if (fate === 'similar') {
      sell(retailer, base, OTHER_BRAND, price);
      sell(retailer, base, base.brand, money(base.paid * 1.7));
      return { ...base, fate, price, retailer };
    }
    if (fate === 'estimate') {
      const asked = [0.5, 1.6, 2].map((factor) => money(base.paid * factor));
      for (const [index, other] of RETAILERS.entries()) sell(other, base, OTHER_BRAND, asked[index]!);
      return { ...base, fate, price: asked[1]!, retailer: null };
    }
    return { ...base, fate, price: null, retailer: null };
  });
  return { things, offers: (retailer, title) => catalogue.get(`${retailer}|${title}`) ?? [] };
}

function pickFate(draw: number): Thing['fate'] {
  if (draw < 0.6) return 'exact';
  if (draw < 0.8) return 'similar';
  if (draw < 0.9) return 'estimate';
  return draw < 0.96 ? 'unknown' : 'unreadable';
}

function money(amount: number): number {
  return Math.round(amount * 100) / 100;
}

/** Writes the CSV with headers as people write them, not with the field names of the pipeline. */
export function inventoryCsv({ things }: Things): string {
  const quote = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
  const lines = things.map(({ title, brand, quantity, paid, fate }) =>
    [quote(title), quote(brand), quantity, fate === 'unreadable' ? 'see receipt' : paid.toFixed(2)].join(','),
  );
  return `Title,Brand,Quantity,Purchase Price\n${lines.join('\n')}\n`;
}

/**
 * Generates a seeded product list for the price lookup, with values that break naive readers: quotes, commas, umlauts,
 * emoji, line breaks inside a title, leading zeros, and texts that look like formulas. The same seed yields the same
 * rows, and a longer list starts with the shorter one.
 */
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { stringify } from 'csv-stringify';
import { seededSequence } from '../seeded-sequence.ts';

/** Values as written in the file: all of them are text. */
export interface ProductRow {
  sku: string;
  title: string;
  brand: string;
  quantity: string;
  purchase_price: string;
}

export interface ProductListOptions {
  rows: number;
  seed: number;
}

const COLUMNS: readonly (keyof ProductRow)[] = ['sku', 'title', 'brand', 'quantity', 'purchase_price'];

const BRANDS = [
  'Müller & Söhne',
  'Acme, Inc.',
  'Nordlicht',
  "O'Brien",
  'Kärcher',
  'Tanaka 田中',
  'Bosch',
  'LUMA',
];
const KINDS = [
  'desk lamp',
  'Gießkanne',
  'monitor',
  'kettle',
  'Bücherregal',
  'USB cable',
  'office chair',
  'Tür',
];
const TRAITS = [
  'black',
  'grün',
  '2 pack',
  'XL',
  'refurbished',
  'größenverstellbar',
  'stainless steel',
  '0,5 l',
];

/** Share of titles that are awkward in each way, and how they are written. The rest are plain. */
const AWKWARD_TITLES: readonly { rate: number; write: (kind: string, trait: string) => string }[] = [
  { rate: 0.06, write: (kind, trait) => `27" ${kind}, ${trait}` },
  { rate: 0.05, write: (kind, trait) => `The "Original" ${kind} (${trait})` },
  { rate: 0.02, write: (kind, trait) => `${kind} ${trait} 🚚 free shipping` },
  { rate: 0.01, write: (kind, trait) => `${kind}\nColour: ${trait}` },
  { rate: 0.01, write: (kind, trait) => `=SALE! ${kind}; ${trait}` },
  { rate: 0.01, write: (kind, trait) => `  ${kind} ${trait} ` },
];

export function* productRows({ rows, seed }: ProductListOptions): Generator<ProductRow> {
  const random = seededSequence(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  for (let index = 0; index < rows; index += 1) {
    yield {
      sku: `${String(Math.floor(random() * 1000)).padStart(3, '0')}-${String(index).padStart(7, '0')}`,
      title: writeTitle(random(), pick(KINDS), pick(TRAITS)),
      brand: pick(BRANDS),
      quantity: String(1 + Math.floor(random() ** 3 * 500)),
      purchase_price: (0.49 + random() ** 2 * 900).toFixed(2),
    };
  }
}

export async function generateProductsCsv(path: string, options: ProductListOptions): Promise<void> {
  await pipeline(
    Readable.from(productRows(options)),
    stringify({ header: true, columns: [...COLUMNS] }),
    createWriteStream(path),
  );
}

function writeTitle(draw: number, kind: string, trait: string): string {
  let upTo = 0;
  for (const { rate, write } of AWKWARD_TITLES) {
    upTo += rate;
    if (draw < upTo) return write(kind, trait);
  }
  return draw < 0.4 ? `${kind}, ${trait}` : `${kind} ${trait}`;
}

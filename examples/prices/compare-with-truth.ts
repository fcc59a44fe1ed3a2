// Compares the results of rows with the known fates of their things.
import type { Thing } from './generate-things.ts';

export interface PricedRow {
  seq: number;
  status: string;
  result: unknown;
}

/** Describes every wrong row in one sentence. Rows are in the order of the things. */
export function compareWithTruth(rows: readonly PricedRow[], things: readonly Thing[]): string[] {
  const wrong = rows.length === things.length ? [] : [`${rows.length} rows for ${things.length} things`];
  for (const [index, thing] of things.entries()) {
    const row = rows[index];
    const expected = expectedOf(thing);
    const { found = null, price = null, retailer = null } = (row?.result ?? {}) as Record<string, unknown>;
    const isRight =
      expected.statuses.includes(row?.status ?? '') &&
      found === expected.found &&
      price === thing.price &&
      retailer === thing.retailer;
    if (!isRight)
      wrong.push(
        `${thing.title}: expected ${thing.fate} ${thing.price} at ${thing.retailer}, got ${row?.status} ${found} ${price} at ${retailer}`,
      );
  }
  return wrong;
}

function expectedOf({ fate }: Thing): { statuses: string[]; found: string | null } {
  if (fate === 'unknown') return { statuses: ['NOT_FOUND'], found: null };
  // The schema refuses an invalid price, and the pipeline fails a photo that shows nothing.
  if (fate === 'unreadable') return { statuses: ['ERROR'], found: null };
  return { statuses: ['DONE'], found: fate };
}

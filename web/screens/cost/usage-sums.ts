// Sums of usage for the tables of the screen, and usage as CSV.
import type { Usage } from '../../../src/contract/overview.ts';

export interface UsageSum {
  key: string;
  first: Usage;
  rows: number;
  done: number;
  failed: number;
  cost: number;
  lostCost: number;
}

/** Sums by key and unit, in the order of their first entry: amounts in different units are never added. */
export function sumUsage(items: readonly Usage[], keyOf: (item: Usage) => string): UsageSum[] {
  const sums = new Map<string, UsageSum>();
  for (const item of items) {
    const key = JSON.stringify([keyOf(item), item.costUnit]);
    const sum = sums.get(key) ?? { key, first: item, rows: 0, done: 0, failed: 0, cost: 0, lostCost: 0 };
    sum.rows += item.rows;
    sum.done += item.done;
    sum.failed += item.failed;
    sum.cost += item.cost;
    sum.lostCost += item.lostCost;
    sums.set(key, sum);
  }
  return [...sums.values()];
}

const COLUMNS = [
  'day',
  'ownerId',
  'pipeline',
  'costUnit',
  'jobs',
  'rows',
  'done',
  'failed',
  'cost',
  'lostCost',
] as const satisfies readonly (keyof Usage)[];

export function usageCsv(items: readonly Usage[]): string {
  const lines = [
    COLUMNS.join(','),
    ...items.map((item) => COLUMNS.map((name) => cell(item[name])).join(',')),
  ];
  return `${lines.join('\r\n')}\r\n`;
}

/** Spreadsheets run texts that begin like a formula, unless an apostrophe comes first. */
function cell(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const text = /^[=+\-@\t\r]/.test(value ?? '') ? `'${value}` : (value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Rows as tab-separated text for pasting into a spreadsheet. Texts that look like formulas are escaped.
import type { Item } from '../../../lib/job.ts';
import type { GridColumn } from './grid-columns.ts';

const STARTS_FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?\d+([.,]\d+)?$/;

export function rowsAsTsv(
  rows: readonly Item[],
  columns: readonly Pick<GridColumn, 'title' | 'text'>[],
): string {
  const lines = [columns.map(({ title }) => cell(title)).join('\t')];
  for (const row of rows) lines.push(columns.map(({ text }) => cell(text(row))).join('\t'));
  return `${lines.join('\n')}\n`;
}

function cell(text: string): string {
  const safe = STARTS_FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return /[\t\r\n"]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

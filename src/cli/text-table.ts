// Formats rows of text as aligned columns. A column with only numbers is aligned to the right.
import { printable } from './progress-lines.ts';

export function textTable(headers: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [headers, ...rows].map((row) => row.map(printable));
  const widths = headers.map((_, at) => Math.max(...cells.map((row) => row[at]!.length)));
  const isNumber = headers.map((_, at) => rows.every((row) => /^[\d.,%/ -]*$/.test(row[at]!)));
  return cells.map((row) =>
    row
      .map((cell, at) => (isNumber[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd(),
  );
}

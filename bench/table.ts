// Formats the results as a plain text table: one row per key, one column per contestant.
const digits = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

function formatCell(value: number | null | undefined): string {
  if (value === null || value === undefined) return '-';
  if (value === 0) return '0';
  return value >= 100 ? digits.format(value) : String(Number(value.toPrecision(3)));
}

export function formatTable(
  columns: readonly string[],
  rows: readonly { label: string; values: Readonly<Record<string, number | null>> }[],
): string {
  const cells = [
    ['', ...columns],
    ...rows.map(({ label, values }) => [label, ...columns.map((c) => formatCell(values[c]))]),
  ];
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  return cells
    .map((row) =>
      row
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

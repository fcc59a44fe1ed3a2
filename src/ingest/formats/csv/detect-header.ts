// Decides whether the first row of a table names the columns. In doubt it does: a header mistaken for a row costs one
// odd item; a row mistaken for a header is noticed immediately, because its values become the names of columns.
import { cellKind } from './cell-kind.ts';

const MAX_ROWS = 200;

export function detectHeader(rows: string[][]): boolean {
  return headerEvidence(rows) >= 0;
}

/** Positive: the first row is a header. Negative: it resembles the rows after it. */
export function headerEvidence(rows: string[][]): number {
  const first = rows[0];
  const others = rows.slice(1, MAX_ROWS);
  if (first === undefined || others.length === 0) return 0;
  if (countsUp(first)) return 1;
  let evidence = 0;
  for (const [column, title] of first.entries()) {
    evidence += columnEvidence(
      title,
      others.map((row) => row[column] ?? ''),
    );
  }
  return evidence;
}

function columnEvidence(title: string, values: string[]): number {
  const filled = values.filter((value) => value.trim() !== '');
  if (filled.length === 0) return 0;
  const kinds = new Map<string, number>();
  for (const value of filled) kinds.set(cellKind(value), (kinds.get(cellKind(value)) ?? 0) + 1);
  const [kind, count] = [...kinds].sort((a, b) => b[1] - a[1])[0]!;
  const titleKind = cellKind(title);
  if (kind !== 'text' && count >= filled.length * 0.8) {
    if (titleKind === kind) return -1;
    return titleKind === 'text' ? 1 : 0;
  }
  // A number or a date over a column of text is rarely its name.
  if (titleKind !== 'text' && titleKind !== 'empty') return -0.5;
  if (titleKind === 'text' && filled.includes(title)) return -0.5;
  const length = filled[0]!.length;
  if (filled.length >= 3 && titleKind === 'text' && filled.every((value) => value.length === length)) {
    return title.length === length ? 0 : 0.5;
  }
  return 0;
}

/** Whether years or months name the columns: 2022, 2023, 2024 over numbers, after a first name or an empty corner. */
function countsUp(first: string[]): boolean {
  const numbers = first.map((title) => title.trim()).filter((title) => /^\d{1,4}$/.test(title));
  if (numbers.length < 2 || numbers.length === first.length) return false;
  const steps = numbers.slice(1).map((number, i) => Number(number) - Number(numbers[i]));
  if (first.some((title) => cellKind(title) === 'text')) return steps.every((step) => step === 1);
  const isCorner = first[0]!.trim() === '' && numbers.length === first.length - 1;
  return (
    isCorner && numbers.every((year) => /^(1[6-9]|20)\d\d$/.test(year)) && steps.every((step) => step > 0)
  );
}

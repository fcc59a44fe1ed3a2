// Decides the columns of a job and the value of each cell in one place, so that grid, exports and summary agree cell by
// cell. Quoting and formulas are up to the writers.
//
// Order: the input columns as in the file, the result keys, `more` if there are too many keys, then status, error and
// attempts, and rowmill_parent if rows were emitted. Input headers stay unchanged, even if they repeat. A result
// column whose name is taken becomes result_<name>, the other columns become rowmill_<name>, with the prefix repeated
// until the name is free. A column that can keep its name keeps it, regardless of the other columns.
import { MAX_SHEET_INTEGER } from './cell-type.ts';
import type { ExportRow } from './export-row.ts';
import type { InputColumn } from '../items/input-column.ts';
import { type JsonField, jsonFieldReader } from '../items/json-fields.ts';

export type CellSource =
  | { from: 'input'; key: string }
  | { from: 'result'; name: string }
  | { from: 'more'; named: ReadonlySet<string> }
  | { from: 'status' | 'error' | 'errorClass' | 'attempts' | 'parent' };

export interface ExportColumn {
  header: string;
  source: CellSource;
}

export interface ColumnNames {
  input: readonly InputColumn[];
  /** Keys of the results, in order. */
  result: readonly string[];
  /** True if some result keys have no column of their own. */
  hasMore: boolean;
  /** True if the job has emitted rows, which name their parent row. */
  hasParents?: boolean;
}

/** Column for results that are not objects. */
export const PLAIN_RESULT_COLUMN = 'result';
const MORE_COLUMN = 'more';
const PARENT_COLUMN = 'rowmill_parent';

export function exportColumns({ input, result, hasMore, hasParents = false }: ColumnNames): ExportColumn[] {
  const taken = new Set(input.map((column) => column.header));
  const kept = result.filter((name) => !taken.has(name));
  for (const name of kept) taken.add(name);
  const isKept = new Set(kept);
  const columns: ExportColumn[] = input.map(({ key, header }) => ({
    header,
    source: { from: 'input', key },
  }));
  for (const name of result) {
    const header = isKept.has(name) ? name : freeHeader(name, 'result_', taken);
    columns.push({ header, source: { from: 'result', name } });
  }
  if (hasMore) {
    const header = freeHeader(MORE_COLUMN, 'result_', taken);
    columns.push({ header, source: { from: 'more', named: new Set(result) } });
  }
  for (const from of ['status', 'error', 'attempts'] as const) {
    columns.push({ header: freeHeader(from, 'rowmill_', taken), source: { from } });
  }
  if (hasParents) {
    columns.push({ header: freeHeader(PARENT_COLUMN, 'rowmill_', taken), source: { from: 'parent' } });
  }
  return columns;
}

/**
 * The columns of a file of unsuccessful rows, which people correct and upload again: the original input, and fixed headers
 * that the next upload recognizes and ignores.
 */
export function unsuccessfulColumns(input: readonly InputColumn[], hasParents = false): ExportColumn[] {
  const ours: ExportColumn[] = [
    { header: 'rowmill_status', source: { from: 'status' } },
    { header: 'rowmill_error', source: { from: 'error' } },
    { header: 'rowmill_error_class', source: { from: 'errorClass' } },
    { header: 'rowmill_attempts', source: { from: 'attempts' } },
    ...(hasParents ? [{ header: PARENT_COLUMN, source: { from: 'parent' as const } }] : []),
  ];
  const reserved = new Set(ours.map((column) => column.header));
  const original = input.filter(({ header }) => !reserved.has(header));
  return [
    ...original.map(({ key, header }): ExportColumn => ({ header, source: { from: 'input', key } })),
    ...ours,
  ];
}

function freeHeader(name: string, prefix: string, taken: Set<string>): string {
  let header = name;
  while (taken.has(header)) header = prefix + header;
  taken.add(header);
  return header;
}

/** Reads the cell values of a row, one per column. The array is reused for the next row. */
export function cellReader(columns: readonly ExportColumn[]): (row: ExportRow) => readonly unknown[] {
  const cells = new Array<unknown>(columns.length).fill(null);
  const inputs: JsonField[] = [];
  const results: JsonField[] = [];
  const others: { at: number; source: CellSource }[] = [];
  columns.forEach(({ source }, at) => {
    if (source.from === 'input') inputs.push({ key: source.key, at });
    else if (source.from === 'result') results.push({ key: source.name, at });
    else others.push({ at, source });
  });
  const readInput = jsonFieldReader(inputs);
  const readResult = jsonFieldReader(results);
  return (row) => {
    if (inputs.length > 0) readInput(row.inputJson, cells);
    if (row.resultJson === null) for (const { at } of results) cells[at] = null;
    else if (!readResult(row.resultJson, cells)) fillPlain(row.resultJson, results, cells);
    for (const { at, source } of others) cells[at] = ownCell(row, source);
    return cells;
  };
}

/** Puts a result that is not an object into one column. */
function fillPlain(json: string, results: readonly JsonField[], cells: unknown[]): void {
  const value: unknown = JSON.parse(json);
  for (const { key, at } of results) cells[at] = key === PLAIN_RESULT_COLUMN ? value : null;
}

function ownCell(row: ExportRow, source: CellSource): unknown {
  switch (source.from) {
    case 'more':
      return row.resultJson === null ? null : moreOf(row.resultJson, source.named);
    case 'status':
      return row.status;
    case 'error':
      return row.error;
    case 'errorClass':
      return row.errorClass;
    case 'parent':
      return parentNumber(row);
    default:
      return row.attempts;
  }
}

/** The number of the parent row, counted from 1 as shown to people. */
export function parentNumber({ parentSeq }: ExportRow): number | null {
  return parentSeq === null || parentSeq === undefined ? null : parentSeq + 1;
}

function moreOf(resultJson: string, named: ReadonlySet<string>): Record<string, unknown> | null {
  const result: unknown = JSON.parse(resultJson);
  if (result === null || typeof result !== 'object' || Array.isArray(result)) return null;
  const rest = Object.entries(result).filter(([key]) => !named.has(key));
  return rest.length === 0 ? null : Object.fromEntries(rest);
}

/** The cell as people read it: text unchanged, null as empty text, anything else as JSON. */
export function cellText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * The same cell for a format with types. Numbers and booleans keep their type, except integers of more than 15 digits,
 * because a spreadsheet would round such an id.
 */
export function typedCell(value: unknown): string | number | boolean | null {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number' && !(Number.isInteger(value) && Math.abs(value) >= MAX_SHEET_INTEGER))
    return value;
  const text = cellText(value);
  return text === '' ? null : text;
}

// Converts values of an export to cells of a sheet: typed if JSON or the original workbook has a type, otherwise text,
// and never a formula.
import type { CellType } from '../core/files/cell-type.ts';
import { cellText, typedCell } from '../core/files/export-columns.ts';
import { type ColumnType, typeReader } from '../core/files/typed-columns.ts';

export type SheetCell = string | number | boolean | Date | null;

export interface SheetColumn {
  /** Number format of the column; undefined for the default of the spreadsheet program. */
  numFmt?: string;
  cell(value: unknown): SheetCell;
}

const DAY_MS = 86_400_000;
/** The earliest date that a sheet supports. */
const FIRST_DATE_MS = Date.UTC(1900, 0, 1);

const PLAIN: SheetColumn = { cell: typedCell };

/** `type` is the type of the column in its original workbook, if it came from one. */
export function sheetColumn(type: ColumnType | undefined): SheetColumn {
  if (type === undefined) return PLAIN;
  const typeOf = typeReader(type);
  const numFmt = formatOf(type.types);
  const isTime = numFmt === TIME_FORMAT;
  const cell = (value: unknown): SheetCell => {
    // A plain number in a column of dates would be shown as a date.
    if (typeof value === 'number' && numFmt !== undefined) return cellText(value);
    if (typeof value !== 'string') return typedCell(value);
    switch (typeOf(value)) {
      case 'number':
        return Number(value);
      case 'boolean':
        return value === 'TRUE';
      case 'date':
      case 'moment':
        return dateCell(value);
      case 'time':
        return isTime ? timeCell(value) : value;
      default:
        return typedCell(value);
    }
  };
  return numFmt === undefined ? { cell } : { numFmt, cell };
}

const TIME_FORMAT = '[h]:mm:ss';

/** Format of a column whose cells are all dates or all times. Without it they would be shown as plain numbers. */
function formatOf(types: readonly CellType[]): string | undefined {
  if (types.every((type) => type === 'time')) return TIME_FORMAT;
  if (types.every((type) => type === 'date')) return 'yyyy-mm-dd';
  if (types.every((type) => type === 'date' || type === 'moment')) return 'yyyy-mm-dd hh:mm:ss';
  return undefined;
}

function dateCell(text: string): SheetCell {
  const ms = Date.parse(text.length === 10 ? text : `${text}Z`);
  // Invalid dates stay text.
  if (!(ms >= FIRST_DATE_MS) || !new Date(ms).toISOString().startsWith(text)) return text;
  return new Date(ms);
}

function timeCell(text: string): SheetCell {
  const [hours, minutes, seconds] = text.split(':').map(Number);
  return Math.round((hours! * 3600 + minutes! * 60 + seconds!) * 1000) / DAY_MS;
}

// Cell types of a workbook. Rows store text; the original cell type is stored separately, so that the value can be
// written to another workbook with its type.

/** `moment` is a date with a time, `time` a time of day or a duration. */
export type CellType = 'number' | 'boolean' | 'date' | 'moment' | 'time';

const DATE = /^\d{4}-\d\d-\d\d$/;
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?$/;
const TIME = /^\d{2,7}:[0-5]\d:[0-5]\d(\.\d{3})?$/;
/** From here on, whole numbers have more digits than a spreadsheet keeps. */
export const MAX_SHEET_INTEGER = 1e15;

export function dateTypeOf(text: string): 'date' | 'moment' | 'time' | null {
  if (DATE.test(text)) return 'date';
  if (MOMENT.test(text)) return 'moment';
  return TIME.test(text) ? 'time' : null;
}

/** The cell type that would be read as exactly this text; null: only a text cell is. */
export function looksLikeType(text: string): CellType | null {
  if (text.length > 30) return null;
  const code = text.charCodeAt(0);
  // Fast path: most texts start with a letter.
  if (code > 0x39) return text === 'TRUE' || text === 'FALSE' ? 'boolean' : null;
  if (code !== 0x2d && (code < 0x30 || code > 0x39)) return null;
  const value = Number(text);
  if (String(value) === text)
    return Number.isFinite(value) && Math.abs(value) < MAX_SHEET_INTEGER ? 'number' : null;
  return dateTypeOf(text);
}

// Converts a number in a cell to text: a plain number, or a date or time if the style of the cell is one. Pure.

/** How the format of a cell shows a number. `elapsed` is a time that may exceed 24 hours. */
export type DateKind = 'date' | 'time' | 'elapsed';

const DAY_MS = 86_400_000;
/** The day after 9999-12-31, the last date of spreadsheets. */
const LAST_SERIAL_1900 = 2_958_466;
const DAYS_FROM_1900_TO_1904 = 1462;
const MAX_FORMAT_CODE = 1024;

/**
 * The number as JavaScript prints it, except that integers keep all digits: a long id is not rounded. Null if
 * invalid.
 */
export function numberText(written: string): string | null {
  const text = written.trim();
  if (/^-?\d{1,21}$/.test(text)) return text.replace(/^(-?)0+(?=\d)/, '$1').replace(/^-0$/, '0');
  const value = text === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? String(value) : null;
}

/**
 * Whether a number has more digits than a spreadsheet keeps, and they are not all written out: an id that is stored as
 * 1.2345678901234567E+19 has lost its last digits.
 */
export function lacksDigits(written: string): boolean {
  const text = written.trim();
  if (text.length < 16 && !/e/i.test(text)) return false;
  if (/^-?\d{1,21}$/.test(text)) return false;
  if (Math.abs(Number(text)) >= 1e15) return true;
  const digits = text.split(/e/i)[0]!.replace(/[-+.]/g, '').replace(/^0+/, '');
  return digits.length > 17;
}

/** ISO without a time zone: cells have none. Null if the number is not a valid date. */
export function dateText(serial: number, kind: DateKind, date1904: boolean): string | null {
  if (!(serial >= 0)) return null;
  if (kind === 'elapsed') return clock(Math.round(serial * DAY_MS));
  if (serial < 1 && (kind === 'time' || !date1904)) {
    const ms = Math.round(serial * DAY_MS);
    return ms < DAY_MS ? clock(ms) : null;
  }
  const days = date1904 ? serial + DAYS_FROM_1900_TO_1904 : serial;
  // 1900 had no 29 February, but spreadsheets count one.
  if (days >= LAST_SERIAL_1900 || Math.floor(days) === 60) return null;
  const ms = Math.round((days < 60 ? days + 1 : days) * DAY_MS) + Date.UTC(1899, 11, 30);
  const iso = new Date(ms).toISOString();
  if (ms % DAY_MS === 0) return iso.slice(0, 10);
  return iso.endsWith('.000Z') ? iso.slice(0, 19) : iso.slice(0, 23);
}

function clock(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const fraction = ms % 1000 === 0 ? '' : `.${String(ms % 1000).padStart(3, '0')}`;
  return `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1000) % 60)}${fraction}`;
}

/** The kind of date that a number format like `dd.mm.yyyy` or `[h]:mm` shows; null for numbers. */
export function dateKindOf(formatCode: string): DateKind | null {
  // Excel allows 255 characters; a much longer code is not a date format.
  if (formatCode.length > MAX_FORMAT_CODE) return null;
  const bare = formatCode
    .replace(/"[^"]*"?/g, '')
    .replace(/[\\_*]./g, '')
    .split(';')[0]!;
  if (/\[(h+|m+|s+)\]/i.test(bare)) return 'elapsed';
  // Remove colours, conditions, currencies and locales.
  const plain = bare.replace(/\[[^[\]]*\]/g, '').toLowerCase();
  if (/^\s*(general|standard)\s*$/.test(plain)) return null;
  // A date format has no digit placeholders, except for fractions of a second.
  if (/[0#?]/.test(plain.replace(/s\.0+/g, 's'))) return null;
  if (/[yd]|mmm/.test(plain)) return 'date';
  if (/[hs]/.test(plain)) return 'time';
  return /m/.test(plain) ? 'date' : null;
}

/** Built-in formats, which every program knows by number. */
export function builtInDateKind(formatId: number): DateKind | null {
  if (formatId === 46) return 'elapsed';
  if ((formatId >= 18 && formatId <= 21) || formatId === 45 || formatId === 47) return 'time';
  if ((formatId >= 14 && formatId <= 17) || formatId === 22) return 'date';
  // Dates of East Asian versions. All numbers in these ranges are dates.
  if ((formatId >= 27 && formatId <= 36) || (formatId >= 50 && formatId <= 58)) return 'date';
  return null;
}

// What a cell looks like. Only for detection: no value is ever changed by it.

export type CellKind = 'empty' | 'number' | 'date' | 'time' | 'email' | 'url' | 'boolean' | 'text';

const NUMBER =
  /^[-+(]?[$€£¥]?\s?[-+]?(\d{1,3}([.,' \u00a0]\d{3})+([.,]\d+)?|\d+(?:[.,]\d*)?|[.,]\d+)([eE][-+]?\d{1,3})?\s?[%$€£¥)]?$/;
const DATE =
  /^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|[AaPp][Mm]|[-+]\d{2}:?\d{2})?)?$/;
const TIME = /^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(\s?[AaPp][Mm])?$/;
const EMAIL = /^[^\s@,;:|^~]+@[^\s@,;:|^~][^\s@,;:|^~.]*\.[^\s@,;:|^~]+$/;
/** Also paths of Windows: their colon is no delimiter either. */
const URL = /^([a-z][a-z0-9+.-]*:\/\/\S+|[a-z]:[\\/].*)$/i;
const BOOLEAN = /^(true|false|yes|no)$/i;
/** Longer cells are text; the patterns are for values. */
const MAX_LENGTH = 200;

export function cellKind(cell: string): CellKind {
  const value = cell.length > MAX_LENGTH ? cell : cell.trim();
  if (value === '') return 'empty';
  if (value.length > MAX_LENGTH) return 'text';
  if (NUMBER.test(value)) return 'number';
  if (DATE.test(value)) return 'date';
  if (TIME.test(value)) return 'time';
  if (EMAIL.test(value)) return 'email';
  if (URL.test(value)) return 'url';
  return BOOLEAN.test(value) ? 'boolean' : 'text';
}

// Classifies a cell by its text. Only for detection: it never changes a value.

export type CellKind = 'empty' | 'number' | 'date' | 'time' | 'email' | 'url' | 'boolean' | 'text';

const NUMBER =
  /^[-+(]?[$€£¥]?\s?[-+]?(\d{1,3}([.,' \u00a0]\d{3})+([.,]\d+)?|\d+(?:[.,]\d*)?|[.,]\d+)([eE][-+]?\d{1,3})?\s?[%$€£¥)]?$/;
const DATE =
  /^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))([T ]\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|[AaPp][Mm]|[-+]\d{2}:?\d{2})?)?$/;
const TIME = /^\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(\s?[AaPp][Mm])?$/;
const EMAIL = /^[^\s@,;:|^~]+@[^\s@,;:|^~][^\s@,;:|^~.]*\.[^\s@,;:|^~]+$/;
/** Also matches Windows paths: their colon is not a delimiter either. */
const URL = /^([a-z][a-z0-9+.-]*:\/\/\S+|[a-z]:[\\/].*)$/i;
const BOOLEAN = /^(true|false|yes|no)$/i;
/** Longer cells are text without a check: the patterns are for short values. */
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

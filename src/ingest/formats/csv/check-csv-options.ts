// Checks the options for a CSV file before the file is read.
import { RowmillError } from '../../../core/errors/rowmill-error.ts';
import type { FormatOptions } from '../../row-reader.ts';

const MAX_DELIMITER_LENGTH = 16;

/** Returns the options with `\t` (as typed in a shell) turned into a tab; throws FILE_OPTION_INVALID. */
export function checkCsvOptions(options: FormatOptions): FormatOptions {
  const { quote, skipLines, columns, escape: escapeBy } = options;
  const delimiter = options.delimiter?.replaceAll('\\t', '\t');
  if (delimiter !== undefined) {
    if (delimiter.length > MAX_DELIMITER_LENGTH) {
      refuse('delimiter', `at most ${MAX_DELIMITER_LENGTH} characters`, delimiter);
    }
    if (/[\r\n]/.test(delimiter)) refuse('delimiter', 'without line ends', delimiter);
  }
  if (quote !== undefined && quote !== '') {
    if (quote.length !== 1) refuse('quote', "one character, or '' for none", quote);
    if (/[\s\\]/.test(quote)) refuse('quote', 'neither a blank, a line end nor a backslash', quote);
    if (delimiter?.includes(quote)) refuse('quote', 'a character that is not in the delimiter', quote);
  }
  if (escapeBy !== undefined && escapeBy !== '') {
    if (quote === '') refuse('escape', "absent when the option quote is ''", escapeBy);
    if (escapeBy !== '\\' && escapeBy !== quote && (quote !== undefined || !/^["']$/.test(escapeBy))) {
      refuse('escape', 'the quote (when it is doubled) or a backslash', escapeBy);
    }
    if (delimiter?.includes(escapeBy)) refuse('escape', 'a character that is not in the delimiter', escapeBy);
  }
  if (skipLines !== undefined && (!Number.isSafeInteger(skipLines) || skipLines < 0)) {
    refuse('skipLines', 'a whole number from 0', skipLines);
  }
  if (columns !== undefined) {
    if (columns.length === 0) refuse('columns', 'one name or more', columns);
    const wrong = columns.find((name) => typeof name !== 'string' || name.trim() === '');
    if (wrong !== undefined) refuse('columns', 'names that are not empty', wrong);
  }
  if (options.shortRows !== undefined && options.shortRows !== 'pad' && options.shortRows !== 'reject') {
    refuse('shortRows', '"reject" or "pad"', options.shortRows);
  }
  return delimiter === undefined ? options : { ...options, delimiter };
}

function refuse(option: string, expected: string, got: unknown): never {
  throw new RowmillError(
    'FILE_OPTION_INVALID',
    `expected the option ${option} to be ${expected}, got ${JSON.stringify(got).slice(0, 100)}`,
  );
}

// Options that control how a file is read, for every command that reads one.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { FormatOptions } from '../core/files/file-format.ts';

export interface FileOptions extends FormatOptions {
  /** Field of the pipeline's input to column. */
  map?: Record<string, string>;
}

export function withFileOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', 'Format of the file (default: detected)').choices([
        'csv',
        'xlsx',
        'jsonl',
        'json',
        'urls',
        'images',
      ]),
    )
    .option('--encoding <name>', 'Encoding of a text file, such as windows-1252')
    .option('--delimiter <text>', 'Delimiter of cells; \\t is a tab, " " any run of spaces', unescapeText)
    .option('--quote <character>', "Quote character of cells; '' for none")
    .option('--escape <character>', 'Escape character for a quote within quotes', unescapeText)
    .option('--header', 'Read the first row as column names')
    .option('--no-header', 'Read the first row as data')
    .option('--skip-lines <n>', 'Lines to skip before the header', countFromZero)
    .option('--columns <names>', 'Column names, separated by commas', (text: string) =>
      text.split(',').map((name) => name.trim()),
    )
    .addOption(
      new Option('--short-rows <fate>', 'Treatment of rows with too few cells').choices(['reject', 'pad']),
    )
    .option('--sheet <name>', 'Sheet of a workbook, by name or number')
    .option('--map <field=column>', "Column for a field of the pipeline's input; repeatable", collectPair);
}

const FORMAT_KEYS = [
  'format',
  'encoding',
  'delimiter',
  'quote',
  'escape',
  'header',
  'skipLines',
  'columns',
  'shortRows',
  'sheet',
] as const;

export function readFormatOptions(options: FileOptions): FormatOptions {
  const given = FORMAT_KEYS.filter((key) => options[key] !== undefined).map((key) => [key, options[key]]);
  return Object.fromEntries(given) as FormatOptions;
}

export function collectPair(pair: string, pairs: Record<string, string> = {}): Record<string, string> {
  const at = pair.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('expected name=value');
  return { ...pairs, [pair.slice(0, at)]: pair.slice(at + 1) };
}

function unescapeText(text: string): string {
  return text.replaceAll('\\t', '\t').replaceAll('\\\\', '\\');
}

function countFromZero(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError('expected a whole number from 0');
  return value;
}

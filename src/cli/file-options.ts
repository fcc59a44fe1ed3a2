// The options that say how a file is read, for every command that reads one.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { FormatOptions } from '../core/files/file-format.ts';

export interface FileOptions extends FormatOptions {
  /** Field of the pipeline's input to column. */
  map?: Record<string, string>;
}

export function withFileOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--format <format>', 'what the file is, instead of looking').choices([
        'csv',
        'xlsx',
        'jsonl',
        'json',
        'urls',
        'images',
      ]),
    )
    .option('--encoding <name>', 'encoding of a text file, such as windows-1252')
    .option('--delimiter <text>', 'what separates cells; \\t is a tab, " " any run of blanks', unescapeText)
    .option('--quote <character>', "what quotes cells; '' for nothing")
    .option('--escape <character>', 'what escapes a quote within quotes', unescapeText)
    .option('--header', 'the first row names the columns')
    .option('--no-header', 'the first row is data')
    .option('--skip-lines <n>', 'lines before the header that are not data', countFromZero)
    .option('--columns <names>', 'names for the columns, separated by commas', (text: string) =>
      text.split(',').map((name) => name.trim()),
    )
    .addOption(
      new Option('--short-rows <fate>', 'what to do with rows that have too few cells').choices([
        'reject',
        'pad',
      ]),
    )
    .option('--sheet <name>', 'sheet of a workbook, by name or number')
    .option(
      '--map <field=column>',
      "which column feeds a field of the pipeline's input; may be repeated",
      collectPair,
    );
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

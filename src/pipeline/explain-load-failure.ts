// Explains why a pipeline module could not be imported, and what to do about it.
import { basename, isAbsolute, relative } from 'node:path';
import { describe } from '../core/errors/classify-error.ts';
import { isErrorCode, RowmillError } from '../core/errors/rowmill-error.ts';

const MISSING_MODULE = /Cannot find (?:module|package) '([^']+)'/;
/** A compiled call of an imported name. */
const COMPILED_NAME = /\(0 ?, ?_\w+\.(\w+)\)/g;

export function explainLoadFailure(path: string, file: string, cause: unknown): RowmillError {
  const message = describe(cause);
  // Recognized by its fields, because the module may use another copy of RowmillError.
  const { code, hint, stack } = (cause ?? {}) as { code?: unknown; hint?: unknown; stack?: unknown };
  if (isErrorCode(code))
    return new RowmillError('PIPELINE_INVALID', `${path}: ${message}`, {
      ...(typeof hint === 'string' && { hint }),
      cause,
    });

  const parse = readParseError(message);
  if (parse) {
    const { what, where, line, column } = parse;
    const other = where === file ? path : `${path} cannot be loaded: ${shown(where)}`;
    // The parser counts columns from 0, editors from 1.
    return failure(
      `${other} is not valid TypeScript: ${what} at line ${line}, column ${column + 1}`,
      'Correct the syntax there, or just before it.',
      cause,
    );
  }

  const missing = MISSING_MODULE.exec(message)?.[1];
  if (missing !== undefined && (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND'))
    return missingModule(path, file, missing, cause);

  if (message.startsWith('Unknown file extension')) {
    return failure(
      `${path} is not a module: expected a name that ends in .ts, .mts, .js or .mjs`,
      'Give the pipeline first, then the rows: rowmill run pipeline.ts rows.csv',
      cause,
    );
  }
  const line = lineIn(file, stack);
  return failure(
    `${path} threw while it was loaded${line}: ${message.replace(COMPILED_NAME, '$1')}`,
    'Correct it, or move code that may fail into a handler: every worker loads the module.',
    cause,
  );
}

/** Parses a two-line message: the problem, then file:line:column. */
function readParseError(
  message: string,
): { what: string; where: string; line: string; column: number } | null {
  const [first = '', ...rest] = message.split('\n');
  const place = rest.find((text) => text.trim() !== '')?.trim() ?? '';
  const position = /:(\d+):(\d+)$/.exec(place);
  if (!first.startsWith('ParseError: ') || !position) return null;
  const [, line, column] = position;
  const what = first.slice('ParseError: '.length).trimEnd();
  return { what, where: place.slice(0, position.index), line: line!, column: Number(column) };
}

function missingModule(path: string, file: string, missing: string, cause: unknown): RowmillError {
  const importer = (cause as { requireStack?: unknown }).requireStack;
  const from = Array.isArray(importer) && typeof importer[0] === 'string' ? importer[0] : file;
  const who = from === file ? path : `${path} cannot be loaded: ${shown(from)}`;
  if (missing.startsWith('.') || isAbsolute(missing)) {
    return failure(
      `${who} imports ${missing}, which does not exist`,
      `Correct the path: it is relative to the folder of ${basename(from)} and ends in .ts or .js.`,
      cause,
    );
  }
  const name = missing
    .split('/')
    .slice(0, missing.startsWith('@') ? 2 : 1)
    .join('/');
  return failure(
    `${who} imports the package ${missing}, which is not installed`,
    `Install it in the project of the pipeline: npm install ${name}`,
    cause,
  );
}

/** Finds the line in the stack. Columns refer to the compiled text and would mislead; lines are kept. */
function lineIn(file: string, stack: unknown): string {
  if (typeof stack !== 'string') return '';
  const at = stack.indexOf(`${file}:`);
  const line = at < 0 ? null : /^\d+/.exec(stack.slice(at + file.length + 1));
  return line ? ` (line ${line[0]})` : '';
}

function shown(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

function failure(message: string, hint: string, cause: unknown): RowmillError {
  return new RowmillError('PIPELINE_INVALID', message, { hint, cause });
}

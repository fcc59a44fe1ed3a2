// Comments and user-facing strings of source files, for tests about wording.
import { readFileSync } from 'node:fs';
import { parseSync } from 'vite';
import { listFiles } from './read-sources.ts';

export interface Prose {
  /** Path from the repository root: web/lib/format.ts. */
  path: string;
  /** On one line; consecutive line comments are one text. */
  text: string;
}

/** Comments of all .ts, .tsx and .css files of a folder, except instructions to tools. */
export function readComments(folder: string): Prose[] {
  return listFiles(folder)
    .filter((path) => /\.(tsx?|css)$/.test(path))
    .flatMap((path) => commentsOf(path, readFileSync(path, 'utf8')))
    .filter(({ text }) => !/^(biome-ignore|@vite-ignore|v8 ignore|<reference)/.test(text));
}

/** Paragraphs, list items and headings of a Markdown page, without code and tables. */
export function readParagraphs(path: string): Prose[] {
  return readFileSync(path, 'utf8')
    .replace(/^```.*?^```$/gms, '')
    .replace(/^\|.*$/gm, '')
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((paragraph) => ({ path, text: oneLine(paragraph.replace(/^\s*(?:[-*]|\d+\.|#+|>) /, '')) }))
    .filter(({ text }) => text !== '');
}

/** Texts of all .ts and .tsx files of a folder that look like prose, without class names. Tests are left out. */
export function readTexts(folder: string): Prose[] {
  return listFiles(folder)
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
    .flatMap((path) =>
      textsIn(parseSync(path, readFileSync(path, 'utf8')).program).map((text) => ({ path, text })),
    )
    .filter(({ text }) => /^[A-Z][a-z]|[A-Za-z]{2,} [A-Za-z]/.test(text));
}

function commentsOf(path: string, source: string): Prose[] {
  if (path.endsWith('.css'))
    return [...source.matchAll(/\/\*([\s\S]*?)\*\//g)].map((match) => ({ path, text: oneLine(match[1]!) }));
  const found: (Prose & { end: number; isLine: boolean })[] = [];
  for (const { type, value, start, end } of parseSync(path, source).comments) {
    const last = found.at(-1);
    const isLine = type === 'Line';
    if (isLine && last?.isLine && /^\n[ \t]*$/.test(source.slice(last.end, start))) {
      last.text += ` ${oneLine(value)}`;
      last.end = end;
    } else found.push({ path, text: oneLine(value), end, isLine });
  }
  return found;
}

/** Without the stars at the beginning of the lines. */
function oneLine(comment: string): string {
  return comment
    .replace(/^[ \t]*\*+/gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}

interface Node {
  type?: string;
  [part: string]: unknown;
}

/** The parts of a template and of a JSX element are one text each. */
function textsIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(textsIn);
  if (typeof node !== 'object' || node === null) return [];
  const { type, value, quasis, name } = node as Node;
  if (type === 'ImportDeclaration') return [];
  if (type === 'JSXAttribute' && (name as Node).name === 'className') return [];
  if (type === 'Literal') return typeof value === 'string' ? [value] : [];
  if (type === 'JSXText') return [oneLine(value as string)];
  const inside = Object.values(node).flatMap(textsIn);
  if (type !== 'TemplateLiteral') return inside;
  const parts = (quasis as { value: { cooked: string } }[]).map((quasi) => quasi.value.cooked);
  return [parts.join('…'), ...inside];
}

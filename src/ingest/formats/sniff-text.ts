// Detects the format of a text from its beginning: JSON lines, a JSON array, URLs, an image manifest, or a table. Pure.
import { MANIFEST_LINE } from '../../core/items/image-rows.ts';
import { countControls, hasOnlyNuls, isPaddedText } from './control-characters.ts';
import { isHttpUrl } from './read-url-list.ts';

export type TextLook =
  | { kind: 'csv' | 'json' | 'jsonl' | 'urls' | 'images' }
  /** `isBroken`: the format is supported, but the file is damaged. */
  | { kind: 'unsupported'; found: string; advice: string; isBroken?: true };

const MAX_LINES = 200;
const DELIMITERS = [',', ';', '\t', '|'];

/** `whole`: the sample is the whole file. */
export function sniffText(sample: string, whole: boolean): TextLook {
  const text = sample.trimStart();
  const binary = findBinary(text);
  if (binary !== null) {
    return { kind: 'unsupported', found: binary, advice: 'Save it as CSV in UTF-8, XLSX or JSON lines.' };
  }
  if (text.startsWith('<')) {
    const markup = sniffMarkup(text);
    if (markup !== null) return markup;
  }
  const lines = splitLines(text, whole);
  if (text.startsWith('[') && startsJsonArray(text)) {
    const isLines = lines.length > 1 && lines.slice(0, 2).every((line) => isJson(line, '['));
    return { kind: isLines ? 'jsonl' : 'json' };
  }
  if (text.startsWith('{')) {
    const json = sniffObjects(text, lines, whole);
    if (json !== null) return json;
  }
  if (looksLikeBrokenJson(text, lines)) return BROKEN_JSON;
  return { kind: isUrlList(lines) ? 'urls' : 'csv' };
}

const BROKEN_JSON: TextLook = {
  kind: 'unsupported',
  found: 'text that looks like JSON but is not valid: a quote, a bracket or its beginning is wrong',
  advice: 'Correct it, or use JSON lines: one object per line. If it is a table, state the format csv.',
  isBroken: true,
};
const PROGRAM_START = /^(?:(?:var|let|const)\s+)?[A-Za-z_$][\w$.]{0,100}\s*[=(]\s*[[{]\s*["'{[\]}]/;
const COMMENT_START = /^(?:\/\/|\/\*|\)\]\})/;
const JSON_LINE = /^(?:[[\]{}(),;]+|"[^"]{0,200}"\s*:.*)$/;
/** Number and share of JSON-like lines from which a text counts as JSON with a missing or damaged beginning. */
const MIN_JSON_LINES = 4;
const MIN_JSON_SHARE = 0.8;

/** Detects single quotes, bare keys, surrounding program code, comments before it, or a missing beginning. */
function looksLikeBrokenJson(text: string, lines: string[]): boolean {
  if (/^\{\s*['"]?[\w$-]{1,100}['"]?\s*:/.test(text) || /^\[\s*'/.test(text)) return true;
  if (lines[0] === '[' || lines[0] === '{' || PROGRAM_START.test(text.slice(0, 500))) return true;
  if (COMMENT_START.test(text) && lines.slice(1, 20).some((line) => /^[[{]/.test(line))) return true;
  const like = lines.filter((line) => JSON_LINE.test(line.slice(0, 500))).length;
  return like >= MIN_JSON_LINES && like >= lines.length * MIN_JSON_SHARE;
}

/** Whether a text can be read in the format that the user stated. */
export function fitsFormat(sample: string, format: 'csv' | 'json' | 'jsonl' | 'urls' | 'images'): boolean {
  const text = sample.trimStart();
  if (format === 'csv') return findBinary(text) === null;
  if (format === 'json') return text.startsWith('[');
  if (format === 'images') return text.startsWith(MANIFEST_LINE);
  const lines = splitLines(text, true);
  if (format === 'jsonl') return lines.some((line) => /^[[{]/.test(line));
  return lines.some(isHttpUrl);
}

/** Lines that are not blank. The last line of a cut sample may be cut, so it counts only if it is the only one. */
function splitLines(text: string, whole: boolean): string[] {
  const lines = text.split(/\r\n|\n|\r/, MAX_LINES + 1);
  if (lines.length > MAX_LINES || (!whole && lines.length > 1)) lines.pop();
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

/** A description of data that is not text; null for text. */
function findBinary(text: string): string | null {
  const start = text.slice(0, 8192);
  const count = countControls(start);
  if (count.nuls + count.others <= start.length * 0.1 || isPaddedText(count, start.length)) return null;
  if (!hasOnlyNuls(count, start.length)) return 'binary data of an unknown kind';
  const percent = Math.round((count.nuls / start.length) * 100);
  return `text of which ${percent}% are NUL characters, as in UTF-32 without a byte order mark`;
}

function sniffMarkup(text: string): TextLook | null {
  const start = text.slice(0, 4096);
  if (/^<(svg|\?xml|!--|!doctype svg)/i.test(start) && /<svg[\s>/]/i.test(start)) {
    return {
      kind: 'unsupported',
      found: 'an SVG image',
      advice: 'An SVG can contain scripts. Convert it to PNG, and put images into a zip.',
    };
  }
  if (/^<(!doctype html|html|head|body|table|meta)[\s>]/i.test(afterProlog(start))) {
    return {
      kind: 'unsupported',
      found: 'an HTML page, even if its name ends with .xls',
      advice: 'Open it in a spreadsheet program and save it as .xlsx or CSV.',
    };
  }
  if (/^<\?xml\b/i.test(start)) {
    const sheet = /Excel\.Sheet|schemas-microsoft-com:office:spreadsheet/.test(start);
    return {
      kind: 'unsupported',
      found: sheet ? 'an Excel 2003 XML spreadsheet' : 'XML',
      advice: 'Save it as .xlsx or CSV.',
    };
  }
  return null;
}

/** Markup from its first element or declaration on, without comments and the XML declaration. */
function afterProlog(text: string): string {
  let at = 0;
  for (;;) {
    const end = text.startsWith('<!--', at)
      ? text.indexOf('-->', at + 4)
      : /^<\?xml/i.test(text.slice(at, at + 5))
        ? text.indexOf('>', at)
        : -1;
    if (end === -1) return text.slice(at);
    at = text.indexOf('>', end) + 1;
    while (/\s/.test(text[at] ?? '')) at += 1;
  }
}

/** A table may also begin with a bracket: `[id],[name]`. */
function startsJsonArray(text: string): boolean {
  const inside = text.slice(1).trimStart();
  if (inside === '' || /^[{\]]/.test(inside)) return true;
  const element =
    /^(\[|"(?:[^"\\]|\\.){0,1000}"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)\s*(.?)/.exec(inside);
  return element !== null && (element[1] === '[' || /^[,\]]$/.test(element[2]!));
}

function sniffObjects(text: string, lines: string[], whole: boolean): TextLook | null {
  if (lines[0] === MANIFEST_LINE) return { kind: 'images' };
  if (!/^\{\s*(["}]|$)/.test(text)) return null;
  const refused: TextLook = {
    kind: 'unsupported',
    found: 'one JSON object over many lines, not rows',
    advice: 'Use the array of rows alone, or JSON lines: one object per line (`jq -c ".rows[]"`).',
  };
  const single = lines.length === 1;
  if (single && wrapsRows(lines[0]!, whole)) return { ...refused, found: 'a JSON object around the rows' };
  if (single && !whole) return { kind: 'jsonl' };
  // A pretty-printed object may have a few whole objects among its lines. That does not make it JSON lines.
  const objects = lines.filter((line) => isJson(line, '{')).length;
  const isLines = isJson(lines[0] ?? '', '{') || objects * 2 >= lines.length;
  return isLines ? { kind: 'jsonl' } : refused;
}

/** `{"rows":[{…},…]}` on one line: a valid row for the reader, but never the intention. */
function wrapsRows(line: string, whole: boolean): boolean {
  if (!/^\{\s*"[^"\\]*"\s*:\s*\[\s*\{/.test(line)) return false;
  if (!whole) return true;
  try {
    return Object.keys(JSON.parse(line) as object).length === 1;
  } catch {
    return false;
  }
}

function isJson(line: string, start: '{' | '['): boolean {
  if (!line.startsWith(start)) return false;
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function isUrlList(lines: string[]): boolean {
  const given = lines.filter((line) => !line.startsWith('#'));
  const urls = given.filter(isHttpUrl);
  // If another word comes before the URLs, it is the header of a table with one column.
  if (urls.length * 2 <= given.length || urls[0] !== given[0]) return false;
  return !DELIMITERS.some((delimiter) => {
    const counts = given.map((line) => line.split(delimiter).length - 1);
    return counts[0]! > 0 && counts.every((count) => count === counts[0]);
  });
}

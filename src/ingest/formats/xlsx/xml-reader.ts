// A streaming XML reader for the parts of a workbook: elements by their local names, and text. It knows no document
// types and no entities but the five of XML, and it refuses what does not end properly, so that no row is lost silently.
import { TextDecoder } from 'node:util';
import { RowmillError } from '../../../core/errors/rowmill-error.ts';

export interface XmlHandler {
  /** `tag` is everything between the angle brackets, for `attributeOf`. */
  open?(name: string, tag: string): void;
  close?(name: string): void;
  /** A long text may come in pieces. */
  text?(text: string): void;
}

export interface XmlReader {
  write(text: string): void;
  end(): void;
}

/** A tag, comment or CDATA longer than this is an attack; a text of any length is given in pieces. */
const MAX_MARKUP_LENGTH = 4 * 1024 * 1024;
const MAX_DEPTH = 200;

/** Reads a whole part; the handler may be asked for what it found after every chunk. */
export async function* readXml(
  chunks: AsyncIterable<Buffer>,
  part: string,
  handler: XmlHandler,
): AsyncGenerator<void> {
  const reader = createXmlReader(part, handler);
  let decoder: TextDecoder | null = null;
  try {
    for await (const chunk of chunks) {
      decoder ??= createDecoder(chunk);
      reader.write(decoder.decode(chunk, { stream: true }));
      yield;
    }
    reader.write(decoder?.decode() ?? '');
  } catch (error) {
    if (error instanceof TypeError) throw invalid(part, 'bytes that are no text in its encoding');
    throw error;
  }
  reader.end();
  yield;
}

function createDecoder(start: Buffer): TextDecoder {
  const little = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0x3c && start[1] === 0);
  const big = (start[0] === 0xfe && start[1] === 0xff) || (start[0] === 0 && start[1] === 0x3c);
  return new TextDecoder(little ? 'utf-16le' : big ? 'utf-16be' : 'utf-8', { fatal: true });
}

export function createXmlReader(part: string, handler: XmlHandler): XmlReader {
  const stack: string[] = [];
  let rest = '';
  /** Pieces that were not looked at yet. Markup that is not complete is read again only when the text has doubled. */
  let waiting: string[] = [];
  let waitingLength = 0;
  /** A carriage return at the end of a piece: only the next one tells whether a line feed follows. */
  let heldReturn = '';
  let ended = false;

  const openTag = (tag: string): void => {
    const selfClosing = tag.endsWith('/');
    const name = localName(tag);
    if (ended) throw invalid(part, 'a second root element');
    handler.open?.(name, tag);
    if (selfClosing) {
      handler.close?.(name);
      ended = stack.length === 0;
    } else if (stack.push(name) > MAX_DEPTH) throw invalid(part, `more than ${MAX_DEPTH} nested elements`);
  };
  const closeTag = (tag: string): void => {
    const name = localName(tag);
    if (stack.pop() !== name) throw invalid(part, `</${name.slice(0, 50)}> without its beginning`);
    handler.close?.(name);
    ended = stack.length === 0;
  };

  const write = (piece: string): void => {
    waiting.push(piece);
    waitingLength += piece.length;
    if (waitingLength < rest.length) checkMarkup(rest.length + waitingLength);
    else read();
  };
  const checkMarkup = (length: number): void => {
    if (length > MAX_MARKUP_LENGTH)
      throw invalid(part, `markup of more than ${MAX_MARKUP_LENGTH} characters`);
  };
  const read = (): void => {
    const text = normalizeLineEnds(heldReturn + waiting.join(''));
    waiting = [];
    waitingLength = 0;
    heldReturn = '';
    if (text.endsWith('\r')) heldReturn = '\r';
    const input = rest + (heldReturn === '' ? text : text.slice(0, -1));
    let at = 0;
    while (at < input.length) {
      const bracket = input.indexOf('<', at);
      if (bracket !== at) {
        const end = bracket === -1 ? endOfWholeText(input, at) : bracket;
        if (stack.length > 0 && end > at) handler.text?.(decodeEntities(input.slice(at, end)));
        at = end;
        if (bracket === -1) break;
      }
      const end = endOfMarkup(input, at);
      if (end === -1) break;
      const kind = input.charCodeAt(at + 1);
      if (kind === 0x2f) closeTag(input.slice(at + 2, end - 1));
      else if (kind !== 0x21 && kind !== 0x3f) openTag(input.slice(at + 1, end - 1));
      else if (input.startsWith('<![CDATA[', at)) handler.text?.(input.slice(at + 9, end - 3));
      else if (kind === 0x21 && !input.startsWith('<!--', at)) {
        throw invalid(part, 'a document type declaration');
      }
      at = end;
    }
    rest = input.slice(at);
    checkMarkup(rest.length);
  };

  return {
    write,
    end() {
      read();
      if (!ended || rest.trim() !== '') throw invalid(part, 'an end in the middle of an element');
    },
  };
}

/** As XML wants it. A return at the very end is left. */
function normalizeLineEnds(text: string): string {
  return text.includes('\r') ? text.replace(/\r\n|\r(?!$)/g, '\n') : text;
}

/** The part of a text that ends a piece, without an entity that goes on in the next. */
function endOfWholeText(input: string, from: number): number {
  const entity = input.lastIndexOf('&');
  return entity >= from && input.length - entity < 12 && !input.includes(';', entity) ? entity : input.length;
}

/** After the markup that begins at `at`, or -1 when it is not complete. */
function endOfMarkup(input: string, at: number): number {
  const after = (mark: string, from: number): number => {
    const found = input.indexOf(mark, from);
    return found === -1 ? -1 : found + mark.length;
  };
  const kind = input.charCodeAt(at + 1);
  if (kind === 0x21) {
    if (input.startsWith('<!--', at)) return after('-->', at + 4);
    if (input.startsWith('<![CDATA[', at)) return after(']]>', at + 9);
    return input.length - at < 9 ? -1 : after('>', at);
  }
  if (kind === 0x3f) return after('?>', at + 2);
  if (kind === 0x2f) return after('>', at + 2);
  // A closing bracket inside a quoted value does not close the tag.
  let quote = 0;
  for (let i = at + 1; i < input.length; i += 1) {
    const code = input.charCodeAt(i);
    if (quote !== 0) {
      if (code === quote) quote = 0;
    } else if (code === 0x3e) return i + 1;
    else if (code === 0x22 || code === 0x27) quote = code;
  }
  return -1;
}

function localName(tag: string): string {
  let end = 0;
  let start = 0;
  for (; end < tag.length; end += 1) {
    const code = tag.charCodeAt(end);
    if (code <= 0x20 || code === 0x2f) break;
    if (code === 0x3a) start = end + 1;
  }
  return tag.slice(start, end);
}

/** The value of an attribute, by the name that stands in the tag. */
export function attributeOf(tag: string, name: string): string | undefined {
  let at = 0;
  while (at < tag.length && tag.charCodeAt(at) > 0x20) at += 1;
  for (;;) {
    while (tag.charCodeAt(at) <= 0x20) at += 1;
    const equals = tag.indexOf('=', at);
    if (equals === -1) return undefined;
    let quote = equals + 1;
    while (tag.charCodeAt(quote) <= 0x20) quote += 1;
    const mark = tag[quote];
    if (mark !== '"' && mark !== "'") return undefined;
    const end = tag.indexOf(mark, quote + 1);
    if (end === -1) return undefined;
    if (tag.startsWith(name, at) && tag.slice(at + name.length, equals).trim() === '') {
      return decodeEntities(tag.slice(quote + 1, end));
    }
    at = end + 1;
  }
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#x([0-9a-fA-F]{1,6})|#(\d{1,7})|(amp|lt|gt|quot|apos));/g,
    (whole, hex, decimal, name) => {
      if (name !== undefined) return ENTITIES[name as string]!;
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex as string, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : (whole as string);
    },
  );
}

function invalid(part: string, what: string): RowmillError {
  return new RowmillError('FILE_INVALID', `expected ${part} of the workbook to be proper XML, got ${what}`, {
    hint: 'Open the file in a spreadsheet program and save it again.',
  });
}

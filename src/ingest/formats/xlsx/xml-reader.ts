// Reads the XML of a part of a workbook as a stream: elements by their local names, and text. saxes parses it. Document
// types and incomplete XML are refused, so that no row is lost silently.
import { TextDecoder } from 'node:util';
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { RowmillError } from '../../../core/errors/rowmill-error.ts';

export type XmlTag = Pick<SaxesTagPlain, 'name' | 'attributes'>;

export interface XmlHandler {
  open?(name: string, tag: XmlTag): void;
  close?(name: string): void;
  text?(text: string): void;
}

export interface XmlReader {
  write(text: string): void;
  end(): void;
}

/**
 * saxes buffers a tag, comment or text until it is complete. A cell cannot be longer, whatever ingestMaxCellBytes is.
 */
const MAX_PIECE_LENGTH = 64 * 1024 * 1024;
const MAX_DEPTH = 200;
/** Errors that some exporters write. saxes passes the text on unchanged, and nothing around it is lost. */
const FORGIVEN = [
  'disallowed character.',
  'undefined entity.',
  'malformed character entity.',
  'the string "]]>" is disallowed in char data.',
];

/** Messages of saxes for a declaration inside the root element. */
const DECLARATIONS = ['incorrect syntax.', 'inappropriately located doctype declaration.'];

/** Reads a whole part. Yields after every chunk, so that the caller can collect what the handler has found. */
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
    if (error instanceof TypeError) throw invalid(part, 'bytes that are not text in its encoding');
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
  const parser = new SaxesParser({ xmlns: false, position: false });
  let depth = 0;
  /** Characters since the last complete tag or text. */
  let pending = 0;
  const text = (piece: string): void => {
    pending = 0;
    handler.text?.(piece);
  };
  parser.on('opentag', (tag) => {
    pending = 0;
    depth += 1;
    if (depth > MAX_DEPTH) throw invalid(part, `more than ${MAX_DEPTH} nested elements`);
    handler.open?.(localName(tag.name), tag);
  });
  parser.on('closetag', ({ name }) => {
    pending = 0;
    depth -= 1;
    handler.close?.(localName(name));
  });
  parser.on('text', (piece) => {
    if (depth > 0) text(piece);
  });
  parser.on('cdata', text);
  const refuseDeclaration = (): never => {
    throw invalid(part, 'a document type declaration');
  };
  parser.on('doctype', refuseDeclaration);
  parser.on('error', ({ message }) => {
    if (DECLARATIONS.includes(message)) refuseDeclaration();
    if (!FORGIVEN.includes(message)) throw invalid(part, message.replace(/\.$/, ''));
  });

  return {
    write(piece) {
      pending += piece.length;
      parser.write(piece);
      if (pending > MAX_PIECE_LENGTH)
        throw invalid(part, `more than ${MAX_PIECE_LENGTH} characters in one piece`);
    },
    end: () => void parser.close(),
  };
}

function localName(name: string): string {
  return name.slice(name.lastIndexOf(':') + 1);
}

function invalid(part: string, what: string): RowmillError {
  return new RowmillError('FILE_INVALID', `expected ${part} of the workbook to be proper XML, got ${what}`, {
    hint: 'Open the file in a spreadsheet program and save it again.',
  });
}

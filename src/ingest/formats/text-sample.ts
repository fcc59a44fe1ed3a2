// The beginning of a text file, decoded, with its encoding and line end.
import { open } from 'node:fs/promises';
import type { FormatOptions } from '../row-reader.ts';
import { decodeText } from './csv/decode-text.ts';
import { detectEncoding } from './csv/detect-encoding.ts';

/** The settings needed to read a text line by line. */
export interface TextLines {
  encoding: string;
  lineEnd: '\n' | '\r';
}

export interface TextSample extends TextLines {
  text: string;
  /** The sample is the whole file. */
  whole: boolean;
}

const SAMPLE_BYTES = 256 * 1024;

/** For readers: detects the encoding from the whole file. */
export async function openText(path: string, options: FormatOptions): Promise<TextSample> {
  const { encoding } = await detectEncoding(path, options.encoding);
  return decodeSample(await readStart(path), encoding);
}

/** For detecting the format, which needs only characters that nearly all encodings share. */
export async function glanceAtText(path: string, options: FormatOptions): Promise<TextSample> {
  const start = await readStart(path);
  // UTF-16 and UTF-32 do not share them, but the beginning of the file shows them.
  const wide = start.bytes.includes(0) || (start.bytes[0] ?? 0) >= 0xfe;
  const { encoding } =
    wide || options.encoding !== undefined
      ? await detectEncoding(path, options.encoding)
      : { encoding: 'utf-8' };
  return decodeSample(start, encoding);
}

interface FileStart {
  bytes: Buffer;
  whole: boolean;
}

async function readStart(path: string): Promise<FileStart> {
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(SAMPLE_BYTES);
    const { bytesRead } = await file.read(buffer, 0, SAMPLE_BYTES, 0);
    const { size } = await file.stat();
    return { bytes: buffer.subarray(0, bytesRead), whole: bytesRead === size };
  } finally {
    await file.close();
  }
}

async function decodeSample({ bytes, whole }: FileStart, encoding: string): Promise<TextSample> {
  let text = '';
  for await (const piece of decodeText(once(bytes), encoding)) text += piece.text;
  const lineEnd = !text.includes('\n') && text.includes('\r') ? '\r' : '\n';
  return { encoding, lineEnd, text, whole };
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

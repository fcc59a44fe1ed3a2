// Reads width and height of an image from its headers, and checks that the file is complete. Walks the structure of
// each format in one pass and never decodes a pixel, so that neither time nor memory depends on the size a header
// claims.
import type { ImageType } from './magic-bytes.ts';

export type MeasuredImage =
  | { ok: true; width: number; height: number; pixels: number }
  | { ok: false; reason: string };

const CUT_OFF = 'the image is cut off';
const NO_SIZE = 'no size found in the image';

export function measureImage(bytes: Buffer, type: ImageType): MeasuredImage {
  try {
    return MEASURES[type](bytes);
  } catch (error) {
    // Thrown by every read beyond the end of the buffer.
    if (error instanceof RangeError) return broken(CUT_OFF);
    throw error;
  }
}

const MEASURES: Record<ImageType, (bytes: Buffer) => MeasuredImage> = {
  png: measurePng,
  jpeg: measureJpeg,
  gif: measureGif,
  webp: measureWebp,
  avif: measureHeif,
  heic: measureHeif,
  tiff: measureTiff,
  bmp: measureBmp,
};

function size(width: number, height: number, pixels = width * height): MeasuredImage {
  return width > 0 && height > 0 ? { ok: true, width, height, pixels } : broken(NO_SIZE);
}

function broken(reason: string): MeasuredImage {
  return { ok: false, reason };
}

/** Replaces readUInt8, which is slow enough to matter when a file is walked byte by byte. */
function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw new RangeError('beyond the end');
  return byte;
}

function measurePng(bytes: Buffer): MeasuredImage {
  let measured = broken(NO_SIZE);
  for (let at = 8; ; ) {
    const length = bytes.readUInt32BE(at);
    const name = bytes.toString('latin1', at + 4, at + 8);
    if (name === 'IHDR') measured = size(bytes.readUInt32BE(at + 8), bytes.readUInt32BE(at + 12));
    at += 12 + length;
    if (at > bytes.length) return broken(CUT_OFF);
    if (name === 'IEND') return measured;
  }
}

function measureJpeg(bytes: Buffer): MeasuredImage {
  let measured = broken(NO_SIZE);
  for (let at = 2; ; ) {
    if (byteAt(bytes, at) !== 0xff) return broken('the segments of the JPEG are damaged');
    const marker = byteAt(bytes, at + 1);
    if (marker === 0xff) at += 1;
    else if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) at += 2;
    else if (marker === 0xda) {
      // The end marker of a thumbnail in an earlier segment does not count.
      return bytes.lastIndexOf(Buffer.from([0xff, 0xd9])) > at ? measured : broken(CUT_OFF);
    } else if (marker === 0xd9) return measured.ok ? broken('the JPEG has no picture') : measured;
    else {
      const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
      if (isFrame) measured = size(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5));
      at += 2 + Math.max(2, bytes.readUInt16BE(at + 2));
    }
  }
}

function measureGif(bytes: Buffer): MeasuredImage {
  const width = bytes.readUInt16LE(6);
  const height = bytes.readUInt16LE(8);
  let pixels = width * height;
  let at = 13 + colorTableBytes(byteAt(bytes, 10));
  for (;;) {
    const block = byteAt(bytes, at);
    if (block === 0x3b) return size(width, height, pixels);
    if (block === 0x21) at += 2;
    else if (block === 0x2c) {
      // A frame may declare a larger size than the picture.
      pixels = Math.max(pixels, bytes.readUInt16LE(at + 5) * bytes.readUInt16LE(at + 7));
      at += 11 + colorTableBytes(byteAt(bytes, at + 9));
    } else return broken('the blocks of the GIF are damaged');
    for (let length = byteAt(bytes, at); length > 0; length = byteAt(bytes, at)) at += 1 + length;
    at += 1;
  }
}

function colorTableBytes(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}

function measureWebp(bytes: Buffer): MeasuredImage {
  if (bytes.readUInt32LE(4) + 8 > bytes.length) return broken(CUT_OFF);
  const kind = bytes.toString('latin1', 12, 16);
  if (kind === 'VP8X') return size(1 + bytes.readUIntLE(24, 3), 1 + bytes.readUIntLE(27, 3));
  if (kind === 'VP8L' && byteAt(bytes, 20) === 0x2f) {
    const bits = bytes.readUInt32LE(21);
    return size(1 + (bits & 0x3fff), 1 + ((bits >>> 14) & 0x3fff));
  }
  if (kind === 'VP8 ' && bytes.readUIntBE(23, 3) === 0x9d012a)
    return size(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
  return broken(NO_SIZE);
}

function measureBmp(bytes: Buffer): MeasuredImage {
  if (bytes.readUInt32LE(2) > bytes.length) return broken(CUT_OFF);
  if (bytes.readUInt32LE(14) === 12) return size(bytes.readUInt16LE(18), bytes.readUInt16LE(20));
  return size(bytes.readInt32LE(18), Math.abs(bytes.readInt32LE(22)));
}

/** Tags for width, height, and the offsets and lengths of the parts of the picture. */
const TIFF_TAGS = [256, 257, 273, 279, 324, 325];
/** No picture has more parts than this; the limit keeps a header from claiming memory. */
const MAX_PARTS = 100_000;

function measureTiff(bytes: Buffer): MeasuredImage {
  const little = bytes[0] === 0x49;
  const u16 = (at: number) => (little ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at));
  const u32 = (at: number) => (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  const directory = u32(4);
  const tags = new Map<number, number[]>();
  for (let i = 0, count = u16(directory); i < count; i += 1) {
    const at = directory + 2 + i * 12;
    const tag = u16(at);
    const wide = u16(at + 2) === 4;
    const values = u32(at + 4);
    const length = values * (wide ? 4 : 2);
    if (!TIFF_TAGS.includes(tag) || tags.has(tag) || values > MAX_PARTS) continue;
    const from = length <= 4 ? at + 8 : u32(at + 8);
    tags.set(
      tag,
      Array.from({ length: values }, (_, n) => (wide ? u32(from + n * 4) : u16(from + n * 2))),
    );
  }
  for (const [offsets, lengths] of [
    [tags.get(273), tags.get(279)],
    [tags.get(324), tags.get(325)],
  ]) {
    if (offsets?.some((offset, i) => offset + (lengths?.[i] ?? 0) > bytes.length)) return broken(CUT_OFF);
  }
  return size(tags.get(256)?.[0] ?? 0, tags.get(257)?.[0] ?? 0);
}

interface Box {
  type: string;
  from: number;
  to: number;
}

function measureHeif(bytes: Buffer): MeasuredImage {
  let path = listBoxes(bytes, 0, bytes.length);
  // Data after the picture does not matter, but the picture must be there.
  if (!path.some((box) => box.type === 'mdat')) return broken(CUT_OFF);
  for (const [type, headerBytes] of [
    ['meta', 4],
    ['iprp', 0],
    ['ipco', 0],
  ] as const) {
    const box = path.find((each) => each.type === type);
    path = box === undefined ? [] : listBoxes(bytes, box.from + headerBytes, box.to);
  }
  // A phone photo consists of tiles, each with a size; the largest size is that of the whole picture.
  let largest = broken(NO_SIZE);
  for (const { type, from } of path) {
    if (type !== 'ispe') continue;
    const measured = size(bytes.readUInt32BE(from + 4), bytes.readUInt32BE(from + 8));
    if (measured.ok && (!largest.ok || measured.pixels > largest.pixels)) largest = measured;
  }
  return largest;
}

/** Lists boxes up to the first that extends beyond the end. */
function listBoxes(bytes: Buffer, start: number, end: number): Box[] {
  const boxes: Box[] = [];
  for (let at = start; at + 8 <= end; ) {
    let length = bytes.readUInt32BE(at);
    let header = 8;
    if (length === 0) length = end - at;
    else if (length === 1) {
      length = Number(bytes.readBigUInt64BE(at + 8));
      header = 16;
    }
    if (length < header || at + length > end || boxes.length >= MAX_PARTS) break;
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), from: at + header, to: at + length });
    at += length;
  }
  return boxes;
}

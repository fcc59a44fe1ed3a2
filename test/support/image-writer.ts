// Images of any declared size: valid headers and endings around meaningless pixels.
import { crc32, deflateSync } from 'node:zlib';

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

export function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  const pixels = deflateSync(Buffer.alloc((width + 1) * height > 1e6 ? 10 : (width + 1) * height));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function segment(marker: number, data: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

/** `thumbnail` is put into a segment before the image, as cameras do. */
export function jpeg(width: number, height: number, thumbnail: Buffer = Buffer.alloc(0)): Buffer {
  const frame = Buffer.from([8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0]);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0', 'latin1'), thumbnail])),
    segment(0xc0, frame),
    segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    Buffer.from([0x12, 0x34, 0xff, 0x00, 0x56, 0xff, 0xd9]),
  ]);
}

export function gif(width: number, height: number): Buffer {
  const head = Buffer.concat([Buffer.from('GIF89a', 'latin1'), Buffer.alloc(7)]);
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  head.writeUInt8(0x80, 10);
  const frame = Buffer.alloc(10);
  frame.writeUInt8(0x2c, 0);
  frame.writeUInt16LE(width, 5);
  frame.writeUInt16LE(height, 7);
  const extension = Buffer.from([0x21, 0xf9, 4, 0, 0, 0, 0, 0]);
  const data = Buffer.from([2, 3, 0x3b, 0x3b, 0x3b, 0]);
  return Buffer.concat([head, Buffer.alloc(6), extension, frame, data, Buffer.from([0x3b])]);
}

export function webp(width: number, height: number, kind: 'VP8 ' | 'VP8L' | 'VP8X'): Buffer {
  const data = Buffer.alloc(16);
  if (kind === 'VP8X') {
    data.writeUIntLE(width - 1, 4, 3);
    data.writeUIntLE(height - 1, 7, 3);
  } else if (kind === 'VP8L') {
    data.writeUInt8(0x2f, 0);
    data.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0, 1);
  } else {
    data.writeUIntBE(0x9d012a, 3, 3);
    data.writeUInt16LE(width, 6);
    data.writeUInt16LE(height, 8);
  }
  const head = Buffer.alloc(20);
  head.write('RIFF', 'latin1');
  head.writeUInt32LE(12 + data.length, 4);
  head.write(`WEBP${kind}`, 8, 'latin1');
  head.writeUInt32LE(data.length, 16);
  return Buffer.concat([head, data]);
}

export function bmp(width: number, height: number): Buffer {
  const image = Buffer.alloc(58);
  image.write('BM', 'latin1');
  image.writeUInt32LE(image.length, 2);
  image.writeUInt32LE(54, 10);
  image.writeUInt32LE(40, 14);
  image.writeInt32LE(width, 18);
  image.writeInt32LE(height, 22);
  return image;
}

export function tiff(width: number, height: number, bigEndian: boolean): Buffer {
  const entries = [
    [256, width],
    [257, height],
    [273, 100],
    [279, 20],
  ] as const;
  const image = Buffer.alloc(120);
  const u16 = (value: number, at: number) =>
    bigEndian ? image.writeUInt16BE(value, at) : image.writeUInt16LE(value, at);
  const u32 = (value: number, at: number) =>
    bigEndian ? image.writeUInt32BE(value, at) : image.writeUInt32LE(value, at);
  image.write(bigEndian ? 'MM' : 'II', 'latin1');
  u16(42, 2);
  u32(8, 4);
  u16(entries.length, 8);
  entries.forEach(([tag, value], i) => {
    u16(tag, 10 + i * 12);
    u16(4, 12 + i * 12);
    u32(1, 14 + i * 12);
    u32(value, 18 + i * 12);
  });
  return image;
}

function box(type: string, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
}

/** `tiles`: number of tile sizes before the size of the whole image. */
export function heif(brand: 'heic' | 'avif', width: number, height: number, tiles = 0): Buffer {
  const size = (w: number, h: number) => {
    const data = Buffer.alloc(12);
    data.writeUInt32BE(w, 4);
    data.writeUInt32BE(h, 8);
    return box('ispe', data);
  };
  const tile = size(Math.min(8, width), Math.min(8, height));
  const sizes = Buffer.concat([...Array<Buffer>(tiles).fill(tile), size(width, height)]);
  return Buffer.concat([
    box('ftyp', Buffer.from(`${brand}\0\0\0\0${brand}mif1`, 'latin1')),
    box('meta', Buffer.alloc(4), box('iprp', box('ipco', sizes))),
    box('mdat', Buffer.alloc(16)),
  ]);
}

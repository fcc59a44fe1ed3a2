// Photos of things: small PNGs whose pixels depend on the thing, as single files and in a zip.
import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import type { Thing } from './generate-things.ts';

const SIZE = 24;

export interface Photo {
  name: string;
  bytes: Buffer;
  thing: Thing;
}

export function photographs(things: readonly Thing[]): Photo[] {
  return things.map((thing, n) => ({
    name: `IMG_${String(n).padStart(5, '0')}.png`,
    bytes: drawPng(thing.title),
    thing,
  }));
}

/** RGB, with one filter byte before each line. */
function drawPng(title: string): Buffer {
  const pattern = createHash('sha256').update(title).digest();
  const pixels = Buffer.alloc(SIZE * (SIZE * 3 + 1));
  for (let y = 0; y < SIZE; y += 1) {
    for (let x = 0; x < SIZE * 3; x += 1) {
      pixels[y * (SIZE * 3 + 1) + 1 + x] = pattern[(x + y) % pattern.length]!;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  return Buffer.concat([uint32(data.length), body, uint32(crc32(body))]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Stored, not deflated, because PNGs are already compressed. */
export function zipPhotos(photos: readonly Photo[]): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, bytes } of photos) {
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(bytes.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, Buffer.from(name), bytes]);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, tail, Buffer.from(name));
    pieces.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(photos.length, 8);
  end.writeUInt16LE(photos.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...pieces, central, end]);
}

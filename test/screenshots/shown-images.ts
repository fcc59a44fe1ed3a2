// A zip of small images that look different.
import { crc32, deflateSync } from 'node:zlib';
import { writeZip } from '../support/zip-writer.ts';

const SIZE = 96;
const NAMES = ['lamp', 'kettle', 'chair', 'shelf', 'monitor', 'cable'];
const COLOURS = [
  [13, 148, 136],
  [217, 119, 6],
  [71, 85, 105],
  [225, 87, 89],
] as const;

export function shownImages(count: number): Buffer {
  return writeZip(
    Array.from({ length: count }, (_, at) => ({
      name: `${NAMES[at % NAMES.length]}-${String(at + 1).padStart(2, '0')}.png`,
      data: picture(COLOURS[at % COLOURS.length]!, 0.25 + (at % 5) / 10),
    })),
  );
}

/** A disc on a background that gets darker downwards. */
function picture([red, green, blue]: readonly [number, number, number], radius: number): Buffer {
  const lines = Array.from({ length: SIZE }, (_, y) => {
    const line = Buffer.alloc(1 + SIZE * 3);
    for (let x = 0; x < SIZE; x += 1) {
      const isDisc = Math.hypot(x / SIZE - 0.5, y / SIZE - 0.5) < radius;
      const shade = isDisc ? 1 : 0.25;
      const paper = 250 - (y / SIZE) * 30;
      [red, green, blue].forEach((part, channel) => {
        line[1 + x * 3 + channel] = Math.round(part * shade + paper * (1 - shade));
      });
    }
    return line;
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(lines))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}

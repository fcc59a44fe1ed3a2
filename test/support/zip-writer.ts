// Writes zips byte by byte, so that a test can create invalid ones: wrong sizes, checksums, names, encryption.
import { constants, crc32, deflateRawSync } from 'node:zlib';

export interface ZipPart {
  name: string;
  data?: Buffer | string;
  /** Deflated bytes to write unchanged, instead of data. */
  deflated?: Buffer;
  store?: boolean;
  /** False values for both headers. */
  size?: number;
  checksum?: number;
  method?: number;
  encrypted?: boolean;
  /** False values for the local header only. */
  localName?: string;
  localSize?: number;
}

export function writeZip(parts: ZipPart[]): Buffer {
  const pieces: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const part of parts) {
    const data = Buffer.from(part.data ?? '');
    const stored = part.store ? data : (part.deflated ?? deflateRawSync(data));
    const name = Buffer.from(part.name);
    const localName = Buffer.from(part.localName ?? part.name);
    const header = {
      flags: (part.encrypted ? 1 : 0) | 0x800,
      method: part.method ?? (part.store ? 0 : 8),
      checksum: part.checksum ?? crc32(data),
      compressed: stored.length,
      size: part.size ?? data.length,
    };
    const local = fields('PK\x03\x04', { ...header, size: part.localSize ?? header.size }, localName.length);
    pieces.push(local, localName, stored);
    const central = Buffer.alloc(46);
    central.write('PK\x01\x02', 'latin1');
    central.writeUInt16LE(20, 4);
    fields('', header, name.length).copy(central, 6, 4, 30);
    central.writeUInt32LE(offset, 42);
    directory.push(central, name);
    offset += local.length + localName.length + stored.length;
  }
  const directoryBytes = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  // More entries than fit here need the zip64 records.
  const many = parts.length > 0xfffe;
  end.writeUInt16LE(many ? 0xffff : parts.length, 8);
  end.writeUInt16LE(many ? 0xffff : parts.length, 10);
  end.writeUInt32LE(directoryBytes.length, 12);
  end.writeUInt32LE(offset, 16);
  const zip64 = many ? zip64Records(parts.length, directoryBytes.length, offset) : Buffer.alloc(0);
  return Buffer.concat([...pieces, directoryBytes, zip64, end]);
}

/** Deflated bytes that inflate to this many MiB of zeros, created cheaply. */
export function deflatedZeros(mebibytes: number): Buffer {
  const block = deflateRawSync(Buffer.alloc(1024 * 1024), {
    level: 9,
    finishFlush: constants.Z_FULL_FLUSH,
  });
  return Buffer.concat([...Array<Buffer>(mebibytes).fill(block), Buffer.from([3, 0])]);
}

function fields(
  signature: string,
  header: { flags: number; method: number; checksum: number; compressed: number; size: number },
  nameLength: number,
): Buffer {
  const buffer = Buffer.alloc(30);
  buffer.write(signature, 'latin1');
  buffer.writeUInt16LE(20, 4);
  buffer.writeUInt16LE(header.flags, 6);
  buffer.writeUInt16LE(header.method, 8);
  buffer.writeUInt32LE(header.checksum, 14);
  buffer.writeUInt32LE(header.compressed, 18);
  buffer.writeUInt32LE(header.size, 22);
  buffer.writeUInt16LE(nameLength, 26);
  return buffer;
}

function zip64Records(entries: number, directoryBytes: number, directoryOffset: number): Buffer {
  const record = Buffer.alloc(56);
  record.write('PK\x06\x06', 'latin1');
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(BigInt(entries), 24);
  record.writeBigUInt64LE(BigInt(entries), 32);
  record.writeBigUInt64LE(BigInt(directoryBytes), 40);
  record.writeBigUInt64LE(BigInt(directoryOffset), 48);
  const locator = Buffer.alloc(20);
  locator.write('PK\x06\x07', 'latin1');
  locator.writeBigUInt64LE(BigInt(directoryOffset + directoryBytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator]);
}

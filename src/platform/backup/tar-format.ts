// Headers of the tar format (ustar, with pax records for long names and files above 8 GiB), so that any tar program can
// open a backup. Only plain files and folders.
const BLOCK = 512;
const MAX_OCTAL_SIZE = 8 ** 11;
/** Far above the longest path of a file system. */
const MAX_PAX_BYTES = 64 * 1024;

export interface TarEntry {
  /** Relative, with slashes; a folder ends with one. */
  path: string;
  bytes: number;
}

/** Headers of one entry. Its content follows, then `paddingOf(bytes)`. */
export function tarHeader({ path, bytes }: TarEntry): Buffer {
  const needsPax = Buffer.byteLength(path) > 100 || bytes >= MAX_OCTAL_SIZE;
  if (!needsPax) return header(path, bytes, path.endsWith('/') ? '5' : '0');
  const records = Buffer.from(paxRecord('path', path) + paxRecord('size', String(bytes)));
  return Buffer.concat([
    header('pax', records.length, 'x'),
    records,
    paddingOf(records.length),
    header('long', bytes >= MAX_OCTAL_SIZE ? 0 : bytes, path.endsWith('/') ? '5' : '0'),
  ]);
}

export function paddingOf(bytes: number): Buffer {
  return Buffer.alloc((BLOCK - (bytes % BLOCK)) % BLOCK);
}

/** Two empty blocks end an archive. */
export const TAR_END = Buffer.alloc(2 * BLOCK);

/** Reads exactly this many bytes. */
export type ReadBytes = (bytes: number) => Promise<Buffer>;

/** Reads the headers of the next entry; null at the end of the archive. Throws an Error if they are broken. */
export async function readTarHeader(read: ReadBytes): Promise<TarEntry | null> {
  let block = await read(BLOCK);
  if (block.every((byte) => byte === 0)) return null;
  checkSum(block);
  let long: Partial<Record<string, string>> = {};
  if (typeOf(block) === 'x') {
    const bytes = sizeOf(block);
    if (bytes > MAX_PAX_BYTES) throw new Error('a name is too long');
    const records = await read(bytes);
    await read(paddingOf(bytes).length);
    long = parsePax(records.toString());
    block = await read(BLOCK);
    checkSum(block);
  }
  const type = typeOf(block);
  if (type !== '0' && type !== '5') throw new Error(`it has an entry of type ${JSON.stringify(type)}`);
  const bytes = long.size === undefined ? sizeOf(block) : Number(long.size);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new Error('a size is not a number');
  return { path: long.path ?? textOf(block, 0, 100), bytes };
}

function header(name: string, bytes: number, type: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  block.write(name, 0, 100);
  block.write(type === '5' ? '0000700\0' : '0000600\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  block.write('ustar\x0000', 257);
  block.write(`${sumOf(block).toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function sumOf(block: Buffer): number {
  return block.reduce((sum, byte) => sum + byte, 0);
}

function checkSum(block: Buffer): void {
  const unsummed = Buffer.from(block);
  unsummed.fill(' ', 148, 156);
  if (Number.parseInt(textOf(block, 148, 8), 8) !== sumOf(unsummed)) throw new Error('a header is damaged');
}

function typeOf(block: Buffer): string {
  return String.fromCharCode(block[156]!);
}

function sizeOf(block: Buffer): number {
  return Number.parseInt(textOf(block, 124, 12), 8);
}

function textOf(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? length : end).toString();
}

/** "17 path=some/file\n": the number counts the whole record, itself included. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = Buffer.byteLength(rest);
  let total = length + String(length).length;
  if (length + String(total).length !== total) total = length + String(total).length;
  return `${total}${rest}`;
}

function parsePax(text: string): Partial<Record<string, string>> {
  return Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => {
        const record = line.slice(line.indexOf(' ') + 1);
        return [record.slice(0, record.indexOf('=')), record.slice(record.indexOf('=') + 1)];
      }),
  );
}

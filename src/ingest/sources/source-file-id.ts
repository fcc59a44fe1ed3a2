// The id of a source file: its path and its fingerprint, encoded in one short string. The name of the file begins
// with it while the file is held. The name therefore shows which claim a held file belongs to, and whether it is
// still the file that was claimed.
import { createHash } from 'node:crypto';

const HELD_NAME = /^((?:-?[0-9a-z]+\.){1,8}[0-9a-f]{16})-(.+)$/s;
/** Most file systems allow 255 bytes. */
const MAX_NAME_BYTES = 255;

/** Contains the numbers of the fingerprint, and hashes of source and path, which may be long and contain anything. */
export function sourceFileId(source: string, path: string, fingerprint: bigint[]): string {
  return [...fingerprint.map((part) => part.toString(36)), `${tagOf(source)}${hashOf(path, 10)}`].join('.');
}

/** Two sources may take different files of one folder. */
export function isOfSource(fileId: string, source: string): boolean {
  return fileId.slice(fileId.lastIndexOf('.') + 1).startsWith(tagOf(source));
}

/** The fingerprint that is encoded in a file id. */
export function fingerprintOf(fileId: string): bigint[] {
  return fileId.split('.').slice(0, -1).map(parseBase36);
}

/** The name of a file while it is held. A very long name keeps its end, which has the extension. */
export function heldName(fileId: string, name: string): string {
  const room = MAX_NAME_BYTES - fileId.length - 1;
  // A character takes at least one byte.
  let kept = name.slice(-room);
  while (Buffer.byteLength(kept) > room) kept = kept.slice(kept.codePointAt(0)! > 0xffff ? 2 : 1);
  return `${fileId}-${kept}`;
}

/** Null for a name that `heldName` did not create. */
export function parseHeldName(held: string): { fileId: string; name: string } | null {
  const match = HELD_NAME.exec(held);
  return match ? { fileId: match[1]!, name: match[2]! } : null;
}

function tagOf(source: string): string {
  return hashOf(source, 6);
}

function hashOf(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}

function parseBase36(digits: string): bigint {
  const negative = digits.startsWith('-');
  let value = 0n;
  for (const digit of negative ? digits.slice(1) : digits)
    value = value * 36n + BigInt(Number.parseInt(digit, 36));
  return negative ? -value : value;
}

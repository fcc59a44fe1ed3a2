// What identifies a file of a source: its path and its fingerprint, written into one short text that is also the
// beginning of its name while it is being read. Whoever finds a file there can therefore tell which claim it belongs
// to, and whether it still is the file that was claimed.
import { createHash } from 'node:crypto';

const HELD_NAME = /^((?:-?[0-9a-z]+\.){1,8}[0-9a-f]{16})-(.+)$/s;
/** Most file systems allow 255 bytes. */
const MAX_NAME_BYTES = 255;

/** The numbers of the fingerprint, and source and path as hashes: names may be long and contain anything. */
export function sourceFileId(source: string, path: string, fingerprint: bigint[]): string {
  return [...fingerprint.map((part) => part.toString(36)), `${tagOf(source)}${hashOf(path, 10)}`].join('.');
}

/** Two sources may take different files of one folder. */
export function isOfSource(fileId: string, source: string): boolean {
  return fileId.slice(fileId.lastIndexOf('.') + 1).startsWith(tagOf(source));
}

/** The fingerprint in a file id, as it was given. */
export function fingerprintOf(fileId: string): bigint[] {
  return fileId.split('.').slice(0, -1).map(parseBase36);
}

/** The name of a file while it is held. Of a very long name the end is kept, which has the extension. */
export function heldName(fileId: string, name: string): string {
  const room = MAX_NAME_BYTES - fileId.length - 1;
  // No character takes less than a byte.
  let kept = name.slice(-room);
  while (Buffer.byteLength(kept) > room) kept = kept.slice(kept.codePointAt(0)! > 0xffff ? 2 : 1);
  return `${fileId}-${kept}`;
}

/** Null for a name that `heldName` did not make. */
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

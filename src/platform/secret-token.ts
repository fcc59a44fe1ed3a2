// Random secrets that machines remember: tokens of sessions, of the first run, of API keys. With 256 bits a plain hash is
// enough to store them; they are compared by their hashes, in constant time.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const TOKEN_BYTES = 32;
const KEY_ID_BYTES = 8;

/** 43 characters of base64url. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** The public part of an API key. */
export function newKeyId(): string {
  return randomBytes(KEY_ID_BYTES).toString('hex');
}

export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export function sameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

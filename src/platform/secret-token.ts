// Random tokens of sessions, setup and API keys. They have 256 bits, so a plain hash is enough to store them. Hashes
// are compared in constant time.
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

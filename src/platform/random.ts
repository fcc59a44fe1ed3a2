// The only module that generates randomness.
import { createHash, randomUUID } from 'node:crypto';

export function newId(): string {
  return randomUUID();
}

export function randomFraction(): number {
  return Math.random();
}

/** Always the same id for the same parts, so that repeated requests with one idempotency key create one job. */
export function derivedId(...parts: string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

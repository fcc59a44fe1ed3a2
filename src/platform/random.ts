// The only place that makes randomness.
import { createHash, randomUUID } from 'node:crypto';

export function newId(): string {
  return randomUUID();
}

export function randomFraction(): number {
  return Math.random();
}

/** The same id for the same parts, always: what makes a request with an idempotency key one job. */
export function derivedId(...parts: string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

// A number in [0, 1) that depends on its arguments alone, so that generated worlds and stand-in services are the same on
// every machine and in whatever order they are asked.
import { createHash } from 'node:crypto';

export function seededDraw(...key: readonly (string | number)[]): number {
  return createHash('sha256').update(JSON.stringify(key)).digest().readUIntBE(0, 6) / 2 ** 48;
}

// A number in [0, 1) that depends only on its arguments, so that generated data and stand-in services are the same on
// every machine and in any order of calls.
import { createHash } from 'node:crypto';

export function seededDraw(...key: readonly (string | number)[]): number {
  return createHash('sha256').update(JSON.stringify(key)).digest().readUIntBE(0, 6) / 2 ** 48;
}

// Name of this process for people: with several machines or containers, a process id alone is not unique.
import { hostname } from 'node:os';

export function processName(): string {
  return `${hostname()} pid ${process.pid}`;
}

// How much memory this process may have: the limit of its container where there is one, else the machine.
import { totalmem } from 'node:os';

export function memoryLimitBytes(): number {
  return smallerLimit(process.constrainedMemory(), totalmem());
}

/** Without a limit the system answers 0, nothing, or more than the machine has. */
export function smallerLimit(constrained: number | undefined, machine: number): number {
  return constrained !== undefined && constrained > 0 ? Math.min(constrained, machine) : machine;
}

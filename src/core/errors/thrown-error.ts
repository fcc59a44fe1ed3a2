// An error that a handler threw, as plain data for the trace of a row: it is sent from threads and printed as JSON. A
// handler may throw anything, so every property is read defensively.
import { describe } from './classify-error.ts';

export interface ThrownError {
  /** The name of the error; null if the value is not an error. */
  name: string | null;
  message: string;
  /** Lines of the stack, innermost first, without the message. */
  stack: string[];
  /** Causes of the error, the nearest first. */
  causes: { name: string | null; message: string; code: string | null }[];
}

const MAX_CAUSES = 5;
const MAX_FRAMES = 100;
const MAX_FRAME_LENGTH = 1000;

export function describeThrown(error: unknown): ThrownError {
  const causes: ThrownError['causes'] = [];
  for (let cause = read(error, 'cause'); cause !== undefined && causes.length < MAX_CAUSES; ) {
    causes.push({ name: textOf(cause, 'name'), message: describe(cause), code: textOf(cause, 'code') });
    cause = read(cause, 'cause');
  }
  return { name: textOf(error, 'name'), message: describe(error), stack: framesOf(error), causes };
}

function framesOf(error: unknown): string[] {
  const lines = (textOf(error, 'stack') ?? '').split('\n').map((line) => line.trim());
  return lines
    .filter((line) => line.startsWith('at '))
    .slice(0, MAX_FRAMES)
    .map((line) => line.slice(0, MAX_FRAME_LENGTH));
}

function textOf(value: unknown, property: string): string | null {
  const found = read(value, property);
  return typeof found === 'string' && found !== '' ? found : null;
}

function read(value: unknown, property: string): unknown {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return undefined;
  try {
    return (value as Record<string, unknown>)[property];
  } catch {
    return undefined;
  }
}

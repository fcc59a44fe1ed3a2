// How full the buffer of outcomes that wait for their flush is, in words. A level is left only well below the point at which
// it began, so that a buffer that hovers around a bound does not change its level with every flush.

export type BufferLevel = 'calm' | 'high' | 'full';

/** Part of the bound at which operators want to know: the database does not keep up. */
export const HIGH_FULLNESS = 0.8;
const CALM_AGAIN = 0.5;

/** `fullness` is the part of the bound that is used; at 1 claims stop. */
export function bufferLevel(before: BufferLevel, fullness: number): BufferLevel {
  if (fullness >= 1) return 'full';
  if (fullness >= HIGH_FULLNESS) return before === 'full' ? 'full' : 'high';
  return before === 'calm' || fullness < CALM_AGAIN ? 'calm' : 'high';
}

// The fill level of the buffer of unflushed outcomes. A level ends only well below the point at which it starts, so
// that a buffer that hovers around a bound does not change its level with every flush.

export type BufferLevel = 'calm' | 'high' | 'full';

/** Share of the bound at which operators should know that the database does not keep up. */
export const HIGH_FULLNESS = 0.8;
const CALM_AGAIN = 0.5;

/** `fullness` is the share of the bound in use; at 1 claims stop. */
export function bufferLevel(before: BufferLevel, fullness: number): BufferLevel {
  if (fullness >= 1) return 'full';
  if (fullness >= HIGH_FULLNESS) return before === 'full' ? 'full' : 'high';
  return before === 'calm' || fullness < CALM_AGAIN ? 'calm' : 'high';
}

// A pseudo-random number in [0, 1) that depends only on its arguments. The jitter of a retry must not depend on the
// order in which other calls return.

export function seededFraction(...parts: number[]): number {
  let hash = 0x811c9dc5;
  for (const part of parts) hash = mix(hash ^ (part | 0));
  return mix(hash) / 2 ** 32;
}

function mix(value: number): number {
  let mixed = (value + 0x6d2b79f5) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}

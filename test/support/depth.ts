// How much a run tests. `npm test` covers every behaviour once; `npm run test:deep` covers every case.

export const isDeep = process.env.TEST_DEEP === '1';

/** The number for `npm test`, and the one for `npm run test:deep`. */
export function depth(quick: number, deep: number): number {
  return isDeep ? deep : quick;
}

/** Every case in the deep lane; otherwise at most `count` of them, evenly spread from the first to the last. */
export function sample<Case>(cases: readonly Case[], count: number): readonly Case[] {
  if (isDeep || cases.length <= count) return cases;
  const step = count === 1 ? 0 : (cases.length - 1) / (count - 1);
  return Array.from({ length: count }, (_, at) => cases[Math.round(at * step)]!);
}

/** For a test that takes long in the deep lane. */
export const LONG = { timeout: isDeep ? 1_800_000 : 60_000 } as const;

// Outputs of the phases that a row has passed, and the form in which a claim hands them to a handler.

/** JSON text by index of the phase. */
export type EarlierOutputs = Readonly<Record<number, string>>;

/** `outputs`: one JSON object with the outputs of all earlier phases by index; null if only `previous` was read. */
export interface ClaimedOutputs {
  previous: string | null;
  outputs: string | null;
}

/** For rows that no claim read: those of tests and of `rowmill try`. */
export function claimedOutputs(earlier: EarlierOutputs, phase: number, readsAll: boolean): ClaimedOutputs {
  if (!readsAll) return { previous: earlier[phase - 1] ?? null, outputs: null };
  const before = Object.entries(earlier).filter(([index]) => Number(index) < phase);
  return { previous: null, outputs: `{${before.map(([index, json]) => `"${index}":${json}`).join()}}` };
}

/** Value of the phase before; undefined if there is none. */
export function previousOf({ previous, outputs }: ClaimedOutputs, phase: number): unknown {
  if (outputs === null) return previous === null ? undefined : JSON.parse(previous);
  return (JSON.parse(outputs) as Record<number, unknown>)[phase - 1];
}

/** The fields of all outputs in the order of the phases, and then those of the last one. */
export function mergeOutputs(outputs: string | null, last: object | null): object {
  const earlier = outputs === null ? {} : (JSON.parse(outputs) as Record<string, object | null>);
  const byPhase = Object.entries(earlier).sort(([a], [b]) => Number(a) - Number(b));
  const all = [...byPhase.map(([, output]) => output), last];
  return Object.fromEntries(all.flatMap((output) => Object.entries(output ?? {})));
}

/** Only objects have fields to merge; null adds none. */
export function canMerge(output: unknown): output is object | null {
  return typeof output === 'object' && !Array.isArray(output);
}

// Numbers of a counter as they go over the wire: under the names of their measures.

/** Numbers stand in the order of the stored measures, and may end before them: the rest is 0. */
export function nameMeasures(
  measures: readonly string[],
  numbers: readonly number[],
): Record<string, number> {
  return Object.fromEntries(measures.map((measure, at) => [measure, numbers[at] ?? 0]));
}

// Counter values on the wire, by the names of their measures.

/** `numbers` are in the order of the stored measures. Missing ones at the end are 0. */
export function nameMeasures(
  measures: readonly string[],
  numbers: readonly number[],
): Record<string, number> {
  return Object.fromEntries(measures.map((measure, at) => [measure, numbers[at] ?? 0]));
}

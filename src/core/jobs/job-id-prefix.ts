// Short ids of jobs: the first characters of an id, as people type them and as lists show them.

/** Digits of a short id in a list. A list with two jobs that share them shows more. */
const SHORT_LENGTH = 8;
const GROUPS = [8, 12, 16, 20];

/** First and last id with this prefix, with or without its dashes; null if no id starts with it. */
export function jobIdRange(prefix: string): { first: string; last: string } | null {
  const given = prefix.toLowerCase();
  const digits = given.replaceAll('-', '');
  if (!/^[0-9a-f]{1,32}$/.test(digits)) return null;
  const [first, last] = ['0', 'f'].map((digit) => withDashes(digits.padEnd(32, digit))) as [string, string];
  return given === digits || first.startsWith(given) ? { first, last } : null;
}

/** Returns the short form of each id: the shortest prefix from eight digits that no other id of the list has. */
export function shortJobIds(jobIds: readonly string[]): Map<string, string> {
  const sorted = [...new Set(jobIds)].sort();
  return new Map(
    sorted.map((jobId, at) => {
      const shared = Math.max(commonLength(jobId, sorted[at - 1]), commonLength(jobId, sorted[at + 1]));
      return [jobId, jobId.slice(0, Math.max(SHORT_LENGTH, shared + 1))];
    }),
  );
}

function commonLength(one: string, other: string | undefined): number {
  let length = 0;
  while (other !== undefined && length < one.length && one[length] === other[length]) length += 1;
  return length;
}

function withDashes(digits: string): string {
  return [0, ...GROUPS].map((from, at) => digits.slice(from, GROUPS[at])).join('-');
}

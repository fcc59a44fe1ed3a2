// Decides by name which files of a source to take. Names are untrusted: matching takes at most pattern length times
// name length, whatever they contain.

/** Names of files that are still being written, or that belong to another program. */
const NEVER_TAKEN = ['.*', '*.part', '*.filepart', '*.tmp', '*.crdownload', '~$*'];

/** If patterns are given, one of them must match. Names of unfinished files never match. */
export function createFileNameFilter(include?: string[]): (name: string) => boolean {
  return (name) =>
    !NEVER_TAKEN.some((pattern) => matchesPattern(name, pattern)) &&
    (include === undefined || include.some((pattern) => matchesPattern(name, pattern)));
}

/** `*` matches any characters, `?` one. */
export function matchesPattern(name: string, pattern: string): boolean {
  let at = 0;
  let next = 0;
  let star = -1;
  let retryAt = 0;
  while (at < name.length) {
    if (pattern[next] === '*') {
      star = next;
      retryAt = at;
      next += 1;
    } else if (pattern[next] === '?' || pattern[next] === name[at]) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      // Let the last star match one more character.
      retryAt += 1;
      at = retryAt;
      next = star + 1;
    } else return false;
  }
  while (pattern[next] === '*') next += 1;
  return next === pattern.length;
}

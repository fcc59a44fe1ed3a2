// Which names of a source are files to take. Names come from strangers: matching takes time linear in pattern times
// name, whatever they contain.

/** Names of files that somebody is still writing, or that a program keeps for itself. */
const NEVER_TAKEN = ['.*', '*.part', '*.filepart', '*.tmp', '*.crdownload', '~$*'];

/** With patterns: one of them must match. Names of unfinished files never do. */
export function createFileNameFilter(include?: string[]): (name: string) => boolean {
  return (name) =>
    !NEVER_TAKEN.some((pattern) => matchesPattern(name, pattern)) &&
    (include === undefined || include.some((pattern) => matchesPattern(name, pattern)));
}

/** `*` stands for any characters, `?` for one. */
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
      // The last star takes one character more.
      retryAt += 1;
      at = retryAt;
      next = star + 1;
    } else return false;
  }
  while (pattern[next] === '*') next += 1;
  return next === pattern.length;
}

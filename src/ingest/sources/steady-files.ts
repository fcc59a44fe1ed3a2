// Remembers since when each file has been unchanged. A file id contains the fingerprint, so a changed file has a new id
// and starts from zero.

/** The function takes all file ids of one poll and returns those that have not changed for `steadyMs`. */
export function createSteadyFiles(steadyMs: number): (fileIds: string[], nowMs: number) => Set<string> {
  let firstSeen = new Map<string, number>();
  return (fileIds, nowMs) => {
    const seen = new Map<string, number>();
    const steady = new Set<string>();
    for (const fileId of fileIds) {
      const since = firstSeen.get(fileId) ?? nowMs;
      seen.set(fileId, since);
      if (nowMs - since >= steadyMs) steady.add(fileId);
    }
    firstSeen = seen;
    return steady;
  };
}

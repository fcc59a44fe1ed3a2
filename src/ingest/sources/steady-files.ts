// Remembers since when each file has looked the same. The file ids contain the fingerprint, so a file that changed is
// another file here, and starts anew.

/** Give it all ids of one look; the answer has those that have not changed for `steadyMs`. */
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

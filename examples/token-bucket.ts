// The rate limit of a stand-in service.

/** `take` returns 0 if it took a token, otherwise the milliseconds until there is one. */
export function createTokenBucket(perSecond: number): { take(): number } {
  const capacity = Math.max(1, perSecond);
  let tokens = capacity;
  let filledAtMs = performance.now();
  return {
    take() {
      const nowMs = performance.now();
      tokens = Math.min(capacity, tokens + ((nowMs - filledAtMs) / 1000) * perSecond);
      filledAtMs = nowMs;
      if (tokens < 1) return ((1 - tokens) / perSecond) * 1000;
      tokens -= 1;
      return 0;
    },
  };
}

// The wait that follows from the rate-limit windows in the headers of a refusal.

type Headers = Readonly<Record<string, string | undefined>>;

/**
 * Milliseconds until the reset of the windows, such as `x-ratelimit-reset-requests: 1m30s`; null if there is none. The
 * call waits for all windows that are used up. If none is, it was too large for what is left of one, and the first
 * reset may be enough. Header names are in lower case, as the AI SDK gives them.
 */
export function rateLimitWait(headers: Headers): number | null {
  const windows = Object.entries(headers).flatMap(([name, value]) => {
    const waitMs = name.startsWith('x-ratelimit-reset-') ? durationOf(value) : null;
    const remaining = headers[name.replace('-reset-', '-remaining-')];
    return waitMs === null ? [] : [{ waitMs, isUsedUp: Number(remaining ?? Number.NaN) === 0 }];
  });
  if (windows.length === 0) return null;
  const usedUp = windows.filter(({ isUsedUp }) => isUsedUp).map(({ waitMs }) => waitMs);
  return usedUp.length > 0 ? Math.max(...usedUp) : Math.min(...windows.map(({ waitMs }) => waitMs));
}

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** `250ms`, `7.66s`, `6m0s`, `1h2m3s`. */
function durationOf(text: string | undefined): number | null {
  if (text === undefined || !/^(?:\d[\d.]{0,11}(?:ms|[smh]))+$/.test(text)) return null;
  return Array.from(text.matchAll(/(\d[\d.]{0,11})(ms|[smh])/g)).reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS],
    0,
  );
}

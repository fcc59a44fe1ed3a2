// The wait that a provider asks for in a refusal, without Retry-After: the rate-limit windows in the headers of OpenAI and
// its compatibles and of Anthropic, and RetryInfo in the body of Google.

type Headers = Readonly<Record<string, string | undefined>>;

interface LimitWindow {
  waitMs: number;
  isUsedUp: boolean;
}

/** Longer bodies are not parsed. */
const MAX_BODY_LENGTH = 100_000;

/** Milliseconds; null if the refusal names no wait. Header names are in lower case, as the AI SDK gives them. */
export function rateLimitWait(headers: Headers, body = ''): number | null {
  const windows = Object.keys(headers).flatMap((name) => windowOf(headers, name) ?? []);
  if (windows.length === 0) return retryInfoOf(body);
  // The call waits for all windows that are used up. If none is, it was too large for what is left of one, and the first
  // reset may be enough.
  const usedUp = windows.filter(({ isUsedUp }) => isUsedUp).map(({ waitMs }) => waitMs);
  return usedUp.length > 0 ? Math.max(...usedUp) : Math.min(...windows.map(({ waitMs }) => waitMs));
}

/** `x-ratelimit-reset-requests: 1m30s`, or `anthropic-ratelimit-requests-reset: 2026-11-18T12:00:30Z`. */
function windowOf(headers: Headers, name: string): LimitWindow | null {
  const isOpenAi = name.startsWith('x-ratelimit-reset-');
  if (!isOpenAi && !/^anthropic-ratelimit-[a-z-]{1,40}-reset$/.test(name)) return null;
  const waitMs = isOpenAi ? durationOf(headers[name]) : untilMs(headers[name], headers.date);
  if (waitMs === null) return null;
  const remaining =
    headers[isOpenAi ? name.replace('-reset-', '-remaining-') : `${name.slice(0, -5)}remaining`];
  return { waitMs, isUsedUp: Number(remaining ?? Number.NaN) === 0 };
}

/** Both times are from the clock of the provider, so that a wrong clock here does not matter. */
function untilMs(reset: string | undefined, date: string | undefined): number | null {
  const ms = Date.parse(reset ?? '') - Date.parse(date ?? '');
  return Number.isNaN(ms) ? null : Math.max(0, ms);
}

/** `google.rpc.RetryInfo` among the details of the error. */
function retryInfoOf(body: string): number | null {
  if (body.length > MAX_BODY_LENGTH || !body.includes('google.rpc.RetryInfo')) return null;
  try {
    const parsed = JSON.parse(body) as unknown;
    // A stream is refused with a list.
    const { error } = (Array.isArray(parsed) ? parsed[0] : parsed) as { error: { details: unknown[] } };
    const details = error.details as { '@type'?: unknown; retryDelay?: unknown }[];
    const info = details.find((detail) => String(detail['@type']).endsWith('/google.rpc.RetryInfo'));
    return typeof info?.retryDelay === 'string' ? durationOf(info.retryDelay) : null;
  } catch {
    // The body has another form.
    return null;
  }
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

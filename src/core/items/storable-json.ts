// Turns any value returned by a handler into JSON text that jsonb accepts, or gives the reason why it cannot. jsonb
// accepts neither NUL nor unpaired surrogates. JSON.stringify writes both as \u escapes, so one pass over the text
// finds them, and an emoji next to them is never touched.

export type StorableJson = { ok: true; json: string; replaced: boolean } | { ok: false; reason: string };

/** Treatment of characters that PostgreSQL cannot store. */
export type UnstorablePolicy = 'fail' | 'replace';

// Matches each escape as a whole, so that an escaped backslash followed by "u0000" is not changed.
const ESCAPE = /\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g;
/** Deeper values overflow the stack of JSON.stringify, or of PostgreSQL's parser. */
export const MAX_DEPTH = 1000;
const MAX_REASON_LENGTH = 1000;
const TOO_DEEP = { ok: false, reason: `the result is nested deeper than ${MAX_DEPTH} levels` } as const;

export function toStorableJson(value: unknown, maxBytes: number, policy: UnstorablePolicy): StorableJson {
  let json: string | undefined;
  try {
    json = JSON.stringify(value);
  } catch (error) {
    const reason = messageOf(error);
    // V8's message about its call stack is not helpful.
    return reason.includes('call stack')
      ? TOO_DEEP
      : { ok: false, reason: `the result is not JSON: ${reason}` };
  }
  if (json === undefined) {
    if (value === undefined) json = 'null';
    else return { ok: false, reason: `the result is not JSON: a ${typeof value} has no JSON form` };
  }
  const safe = replaceUnstorable(json);
  const replaced = safe !== json;
  if (replaced && policy === 'fail') {
    return {
      ok: false,
      reason:
        'the result contains a NUL character or an unpaired surrogate; set unstorable: "replace" in the pipeline to replace them',
    };
  }
  json = safe;
  // A character has at most three bytes, so short texts need no count.
  if (json.length * 3 > maxBytes) {
    const bytes = json.length > maxBytes ? json.length : Buffer.byteLength(json);
    if (bytes > maxBytes)
      return {
        ok: false,
        reason: `the result has ${bytes} bytes of JSON, more than the limit of ${maxBytes}`,
      };
  }
  if (nestsDeeperThan(json, MAX_DEPTH)) return TOO_DEEP;
  return { ok: true, json, replaced };
}

/** Replaces characters that jsonb does not accept by U+FFFD, in JSON text from JSON.stringify. */
export function replaceUnstorable(json: string): string {
  if (!json.includes('\\u')) return json;
  return json.replace(ESCAPE, (found) => (found.length === 6 ? '\ufffd' : found));
}

/** Makes external text safe for a text column: no NUL, no unpaired surrogates, bounded length. */
export function toStorableText(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}… (${text.length} characters)` : text;
  return cut.toWellFormed().replaceAll('\0', '\ufffd');
}

/** `json` must be valid JSON. */
export function nestsDeeperThan(json: string, limit: number): boolean {
  if (json.length < limit * 2) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < json.length; i += 1) {
    const code = json.charCodeAt(i);
    if (inString) {
      if (code === 0x5c) i += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return false;
}

function messageOf(error: unknown): string {
  try {
    if (error instanceof Error)
      return toStorableText(String(error.message).split('\n')[0]!, MAX_REASON_LENGTH);
  } catch {
    // A value may throw anything, even an object that throws when it is inspected.
  }
  return 'it threw while being read';
}

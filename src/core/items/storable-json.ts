// Turns any value a handler returned into JSON text that jsonb accepts, or says why it cannot.
// jsonb takes neither NUL nor half a surrogate pair; JSON.stringify writes both as \u escapes, so one look
// at the text finds them, and an emoji next to them is never touched.

export type StorableJson =
  | { ok: true; json: string; bytes: number; replaced: boolean }
  | { ok: false; reason: string };

/** What to do with characters that PostgreSQL cannot store. */
export type UnstorablePolicy = 'fail' | 'replace';

// Consumes each escape as a whole, so that an escaped backslash followed by "u0000" is left alone.
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
    // V8's message about its stack helps nobody.
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
        'the result contains a NUL character or half a surrogate pair; unstorable: "replace" of the pipeline replaces them',
    };
  }
  json = safe;
  const bytes = json.length > maxBytes ? json.length : Buffer.byteLength(json);
  if (bytes > maxBytes) {
    return { ok: false, reason: `the result has ${bytes} bytes of JSON, more than the limit of ${maxBytes}` };
  }
  if (nestsDeeperThan(json, MAX_DEPTH)) return TOO_DEEP;
  return { ok: true, json, bytes, replaced };
}

/** JSON text as JSON.stringify writes it, with U+FFFD for what jsonb does not take. */
export function replaceUnstorable(json: string): string {
  if (!json.includes('\\u')) return json;
  return json.replace(ESCAPE, (found) => (found.length === 6 ? '\ufffd' : found));
}

/** Makes outside text safe for a text column: no NUL, no half pairs, bounded. */
export function toStorableText(text: string, maxLength: number): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}… (${text.length} characters)` : text;
  return cut.toWellFormed().replaceAll('\0', '\ufffd');
}

/** Of a text that is JSON. */
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
    // A value may throw anything at all, also something that throws when it is looked at.
  }
  return 'it threw while being read';
}

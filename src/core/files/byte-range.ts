// Which bytes of a file a request asks for (RFC 9110, section 14). What is not one range of bytes is as if nothing was asked
// for: several ranges of a file cost the server more than they are of use.

export type ByteRange =
  | { kind: 'whole' }
  /** `end` is exclusive. */
  | { kind: 'part'; start: number; end: number }
  | { kind: 'unsatisfiable' };

const WHOLE: ByteRange = { kind: 'whole' };
const ONE_RANGE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i;

export function chooseRange(header: string | undefined, bytes: number): ByteRange {
  const [, first, last] = ONE_RANGE.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return WHOLE;
  if (first === '') {
    // The last so many.
    const start = Math.max(0, bytes - Number(last));
    return start < bytes ? { kind: 'part', start, end: bytes } : { kind: 'unsatisfiable' };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return WHOLE;
  if (start >= bytes) return { kind: 'unsatisfiable' };
  return { kind: 'part', start, end: last === '' ? bytes : Math.min(bytes, Number(last) + 1) };
}

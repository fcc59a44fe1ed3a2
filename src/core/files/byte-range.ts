// Parses the Range header of a request (RFC 9110, section 14). Any header other than a single byte range is ignored:
// several ranges cost the server more than they are worth.

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
    // A suffix range: the last bytes of the file.
    const start = Math.max(0, bytes - Number(last));
    return start < bytes ? { kind: 'part', start, end: bytes } : { kind: 'unsatisfiable' };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return WHOLE;
  if (start >= bytes) return { kind: 'unsatisfiable' };
  return { kind: 'part', start, end: last === '' ? bytes : Math.min(bytes, Number(last) + 1) };
}

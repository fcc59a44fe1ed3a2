// Finds the end of a UTF-8 sequence by the table of the Unicode standard (no overlong forms, no surrogates). Decoding
// and detection share it, so that both treat the same bytes as damaged.

/**
 * The length of the sequence at `at` if it is valid. Otherwise the negative number of bytes that one U+FFFD replaces:
 * the longest beginning of a valid sequence, or one byte.
 */
export function measureUtf8Sequence(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  if (lead < 0x80) return 1;
  const length = expectedLength(lead);
  if (length === 0) return -1;
  let low = 0x80;
  let high = 0xbf;
  if (lead === 0xe0) low = 0xa0;
  else if (lead === 0xed) high = 0x9f;
  else if (lead === 0xf0) low = 0x90;
  else if (lead === 0xf4) high = 0x8f;
  for (let i = 1; i < length; i += 1) {
    const byte = bytes[at + i];
    if (byte === undefined || byte < low || byte > high) return -i;
    low = 0x80;
    high = 0xbf;
  }
  return length;
}

/** Number of bytes at the end that may begin a sequence that the next chunk completes. */
export function unfinishedUtf8Length(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back += 1) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return expectedLength(byte) > back ? back : 0;
  }
  return 0;
}

function expectedLength(lead: number): number {
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  if (lead >= 0xf0 && lead <= 0xf4) return 4;
  return 0;
}

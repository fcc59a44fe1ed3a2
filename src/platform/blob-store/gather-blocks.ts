// Copies chunks of any size into blocks of a given size, so that a source of many tiny chunks needs neither a write
// per chunk nor a list of chunks.

const SMALLEST_BUFFER = 64 * 1024;

/**
 * All blocks but the last have `blockBytes(index)` bytes, and none is empty. `onBytes` gets the bytes of a block
 * before the block is yielded.
 */
export async function* gatherBlocks(
  chunks: AsyncIterable<Uint8Array>,
  blockBytes: (index: number) => number,
  onBytes?: (bytes: Uint8Array) => void,
): AsyncGenerator<Buffer, void> {
  let index = 0;
  let wanted = blockBytes(index);
  let buffer: Buffer = Buffer.alloc(0);
  let filled = 0;
  for await (const chunk of chunks) {
    for (let taken = 0; taken < chunk.byteLength; ) {
      const piece = chunk.subarray(taken, taken + wanted - filled);
      if (filled + piece.byteLength > buffer.byteLength) {
        buffer = largerBuffer(buffer, filled, index === 0 ? filled + piece.byteLength : wanted, wanted);
      }
      buffer.set(piece, filled);
      onBytes?.(piece);
      taken += piece.byteLength;
      filled += piece.byteLength;
      if (filled < wanted) continue;
      yield buffer.subarray(0, filled);
      index += 1;
      wanted = blockBytes(index);
      buffer = Buffer.alloc(0);
      filled = 0;
    }
  }
  if (filled > 0) yield buffer.subarray(0, filled);
}

/** The first block starts small, because most files are small. Later blocks are probably full. */
function largerBuffer(buffer: Buffer, filled: number, needed: number, most: number): Buffer {
  const bytes = Math.min(most, Math.max(needed, SMALLEST_BUFFER, buffer.byteLength * 2));
  const larger = Buffer.allocUnsafeSlow(bytes);
  larger.set(buffer.subarray(0, filled));
  return larger;
}

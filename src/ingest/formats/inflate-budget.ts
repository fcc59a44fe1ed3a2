// Limits the size to which a compressed file may inflate. Counts the inflated bytes; declared sizes are not trusted.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ReadLimits } from '../row-reader.ts';

/** Up to this size, a high ratio is harmless. Small files of repeated rows exceed it, so text may have more. */
const FREE_BYTES = 1024 * 1024;
const FREE_TEXT_BYTES = 32 * 1024 * 1024;

export interface InflateBudget {
  /** Throws FILE_TOO_LARGE once there are too many bytes. */
  add(chunk: Buffer): void;
}

/** `name` appears in errors; `compressedBytes` is the size before inflating. */
export function createInflateBudget(
  name: string,
  compressedBytes: number,
  limits: Pick<ReadLimits, 'inflateMaxBytes' | 'inflateMaxRatio'>,
): InflateBudget {
  const { inflateMaxBytes, inflateMaxRatio } = limits;
  let total = 0;
  let freeBytes = FREE_TEXT_BYTES;
  return {
    add(chunk) {
      total += chunk.length;
      // A NUL byte means that it is not text. Beyond FREE_TEXT_BYTES this makes no difference.
      if (freeBytes > FREE_BYTES && total <= FREE_TEXT_BYTES + chunk.length && chunk.includes(0)) {
        freeBytes = FREE_BYTES;
      }
      if (total > inflateMaxBytes) {
        throw new RowmillError(
          'FILE_TOO_LARGE',
          `expected ${name} to inflate to at most ${inflateMaxBytes} bytes (inflateMaxBytes), got more`,
        );
      }
      if (total > freeBytes && total > compressedBytes * inflateMaxRatio) {
        throw new RowmillError(
          'FILE_TOO_LARGE',
          `expected ${name} to inflate to at most ${inflateMaxRatio} times its ${compressedBytes} bytes (inflateMaxRatio), got more`,
        );
      }
    },
  };
}

// What a compressed file may inflate to. It is counted while the bytes come out; what headers declare is not believed.
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ReadLimits } from '../row-reader.ts';

/** Below this much a high ratio is harmless. Small files of repeated rows reach it, so text may have more. */
const FREE_BYTES = 1024 * 1024;
const FREE_TEXT_BYTES = 32 * 1024 * 1024;

export interface InflateBudget {
  /** FILE_TOO_LARGE once there are too many bytes. */
  add(chunk: Buffer): void;
}

/** `name` is what inflates, `compressedBytes` what it inflates from. */
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
      // Past these bytes the answer no longer depends on it.
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

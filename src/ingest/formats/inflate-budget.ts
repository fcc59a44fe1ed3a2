// What a compressed file may inflate to. It is counted while the bytes come out; what headers declare is not believed.
import { RowmillError } from '../../core/rowmill-error.ts';
import type { ReadLimits } from '../row-reader.ts';

/** Below this much a high ratio harms nobody: small files of repeated rows reach it. */
const FREE_BYTES = 1024 * 1024;

export interface InflateBudget {
  /** FILE_TOO_LARGE once there are too many. */
  add(bytes: number): void;
}

/** `name` is what inflates, `compressedBytes` what it inflates from. */
export function createInflateBudget(
  name: string,
  compressedBytes: number,
  limits: Pick<ReadLimits, 'inflateMaxBytes' | 'inflateMaxRatio'>,
): InflateBudget {
  const { inflateMaxBytes, inflateMaxRatio } = limits;
  let total = 0;
  return {
    add(bytes) {
      total += bytes;
      if (total > inflateMaxBytes) {
        throw new RowmillError(
          'FILE_TOO_LARGE',
          `expected ${name} to inflate to at most ${inflateMaxBytes} bytes (inflateMaxBytes), got more`,
        );
      }
      if (total > FREE_BYTES && total > compressedBytes * inflateMaxRatio) {
        throw new RowmillError(
          'FILE_TOO_LARGE',
          `expected ${name} to inflate to at most ${inflateMaxRatio} times its ${compressedBytes} bytes (inflateMaxRatio), got more`,
        );
      }
    },
  };
}

// Inflates a gzip to a file, as a stream and within the limits.
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { RowmillError } from '../../core/rowmill-error.ts';
import type { ReadLimits } from '../row-reader.ts';
import { createInflateBudget } from './inflate-budget.ts';

export async function inflateGzip(path: string, target: string, limits: ReadLimits): Promise<void> {
  const { size } = await stat(path);
  const budget = createInflateBudget('the gzip', size, limits);
  try {
    await pipeline(
      createReadStream(path),
      createGunzip({ chunkSize: 64 * 1024 }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          budget.add(chunk.length);
          yield chunk;
        }
      },
      createWriteStream(target),
    );
  } catch (cause) {
    if (cause instanceof RowmillError) throw cause;
    const error = cause as NodeJS.ErrnoException;
    if (error.code === 'Z_BUF_ERROR') {
      throw new RowmillError('FILE_INCOMPLETE', 'the gzip ends before it is complete', { cause });
    }
    if (error.code?.startsWith('Z_')) {
      throw new RowmillError('FILE_INVALID', `the gzip is damaged: ${error.message}`, { cause });
    }
    throw cause;
  }
}

// Inflates a gzip to a file, as a stream and within the limits.
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { ReadLimits } from '../row-reader.ts';
import { createInflateBudget } from './inflate-budget.ts';

export async function inflateGzip(path: string, target: string, limits: ReadLimits): Promise<void> {
  const { size } = await stat(path);
  const budget = createInflateBudget('the gzip', size, limits);
  try {
    await pipeline(async function* () {
      for await (const chunk of inflate(path)) {
        budget.add(chunk);
        yield chunk;
      }
    }, createWriteStream(target));
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

/** zlib stops at the first zero byte after the last member: padding, as tapes and some programs write it. */
async function* inflate(path: string): AsyncGenerator<Buffer> {
  const source = createReadStream(path);
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  source.on('error', (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) yield chunk as Buffer;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
  await checkPadding(path, gunzip.bytesWritten);
}

async function checkPadding(path: string, start: number): Promise<void> {
  for await (const chunk of createReadStream(path, { start })) {
    if ((chunk as Buffer).some((byte) => byte !== 0))
      throw new RowmillError('FILE_INVALID', 'the gzip is damaged: there is data after its end');
  }
}

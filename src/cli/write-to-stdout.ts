// Bytes of a file to standard output, as fast as somebody reads them.
import { pipeline } from 'node:stream/promises';
import { writingTo } from './writing-to.ts';

/** Whoever has read enough, such as `head`, closes the pipe: that is no failure. */
export async function writeToStdout(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await writingTo('to standard output', () => pipeline(bytes, process.stdout, { end: false })).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    },
  );
}

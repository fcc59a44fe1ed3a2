// Limits the concurrent downloads of an owner in this process. A slot is released when the stream closes for any
// reason.
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { Job } from '../../store/views/jobs/read-job.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import type { ApiContext } from '../api-context.ts';
import type { BytesAnswer } from '../requests/handler.ts';

const RETRY_MS = 5000;
const BUFFERED_BYTES = 65_536;

export async function sendDownload(
  context: ApiContext,
  { job, reply, signal }: { job: Job; reply: FastifyReply; signal: AbortSignal },
  open: () => Promise<Omit<BytesAnswer, 'stream'> & { bytesOf: Readable | AsyncIterable<Buffer> }>,
): Promise<BytesAnswer> {
  const { exportsAtOnce } = context.engine.settings;
  const release = context.slots.exports.take(job.ownerId, exportsAtOnce);
  if (!release)
    throw new RetryLaterError(
      'TOO_MANY_EXPORTS',
      `expected at most ${exportsAtOnce} downloads of ${job.ownerId} at once (exportsAtOnce)`,
      RETRY_MS,
    );
  try {
    const { bytesOf, ...answer } = await open();
    if (reply.request.method === 'HEAD') {
      // HEAD needs only the headers, so nothing is read.
      if (bytesOf instanceof Readable) bytesOf.destroy();
      release();
      return { ...answer, stream: Readable.from([]) };
    }
    const stream =
      bytesOf instanceof Readable
        ? bytesOf
        : Readable.from(bytesOf, { objectMode: false, highWaterMark: BUFFERED_BYTES });
    stream.once('close', release);
    stream.once('error', (error) => {
      // The client only sees the connection break; the reason is in the log.
      if (!signal.aborted)
        context.log.error(
          { requestId: reply.request.id, jobId: job.jobId, error: error.message },
          'download failed',
        );
    });
    // If the client has disconnected by now, nothing reads the stream.
    if (signal.aborted) stream.destroy();
    signal.addEventListener('abort', () => stream.destroy(), { once: true });
    return { ...answer, stream };
  } catch (error) {
    release();
    throw error;
  }
}

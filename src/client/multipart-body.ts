// A multipart body of the field `job` and the part `file`, streamed so that the file is never held in memory as a
// whole.
import { randomFraction } from './surroundings.ts';

export interface MultipartBody {
  contentType: string;
  content: ReadableStream<Uint8Array>;
}

export function multipartBody(
  job: unknown,
  file: { name: string; bytes: AsyncIterable<Uint8Array> },
  onSent: (bytes: number) => void,
): MultipartBody {
  const boundary = `rowmill-${Array.from({ length: 4 }, () => randomFraction().toString(36).slice(2)).join('')}`;
  const chunks = parts(boundary, job, file, onSent);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    content: new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { value, done } = await chunks.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          await chunks.return(undefined);
        },
      },
      // Nothing is read ahead, so progress counts only bytes that the connection requested.
      { highWaterMark: 0 },
    ),
  };
}

async function* parts(
  boundary: string,
  job: unknown,
  { name, bytes }: { name: string; bytes: AsyncIterable<Uint8Array> },
  onSent: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(
    `--${boundary}\r\ncontent-disposition: form-data; name="job"\r\n\r\n` +
      `${JSON.stringify(job)}\r\n--${boundary}\r\ncontent-disposition: form-data; name="file"; ` +
      `filename="${quoted(name)}"\r\ncontent-type: application/octet-stream\r\n\r\n`,
  );
  let sent = 0;
  for await (const chunk of bytes) {
    if (chunk.byteLength === 0) continue;
    yield chunk;
    sent += chunk.byteLength;
    onSent(sent);
  }
  yield encoder.encode(`\r\n--${boundary}--\r\n`);
}

/** Escapes file names as browsers do. */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

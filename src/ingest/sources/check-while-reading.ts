// The bytes of a file on their way to becoming a job, counted and checked at their end: the reader fails before it has
// created anything when the file is not what was claimed. What went wrong is told apart from the error itself, because
// the one who reads may report it as a failure of his own.
import type { OpenedSourceFile } from './source-adapter.ts';

export type ReadProblem = { kind: 'changed' } | { kind: 'failed'; error: unknown };

export async function* checkWhileReading(
  file: OpenedSourceFile,
  expectedBytes: number,
  onProblem: (problem: ReadProblem) => void,
): AsyncGenerator<Buffer> {
  let read = 0;
  let changed = false;
  try {
    for await (const chunk of file.bytes) {
      read += chunk.length;
      // A file that grows for ever would never end.
      if (read > expectedBytes) break;
      yield chunk;
    }
    changed = !(await file.unchanged()) || read > expectedBytes;
    if (!changed && read < expectedBytes) {
      throw new Error(`expected ${expectedBytes} bytes, the file ended after ${read}`);
    }
  } catch (error) {
    onProblem({ kind: 'failed', error });
    throw error;
  }
  if (changed) {
    onProblem({ kind: 'changed' });
    throw new Error('the file changed while it was read');
  }
}

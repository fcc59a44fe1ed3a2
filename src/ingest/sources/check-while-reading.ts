// Passes on the bytes of a source file, counts them and checks the file at the end. If it is not the file that was
// claimed, the read fails before a job is created. The problem is also reported through `onProblem`, because the
// consumer may wrap the error in one of its own.
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
      // A file that keeps growing would never end.
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

// The simplest function that turns a file of a source into a job: reads all bytes, refuses another length, and creates
// the job with the key of the file and the hash of its bytes. Hooks let tests fail or delay it.
import { createHash } from 'node:crypto';
import { RowmillError } from '../../src/core/errors/rowmill-error.ts';
import { createJob } from '../../src/engine/jobs/create-job.ts';
import type { EngineContext } from '../../src/engine/engine-context.ts';
import type { TakeFile } from '../../src/ingest/sources/scan-source.ts';

type Offered = Parameters<TakeFile>[0];

export interface TakeHooks {
  beforeOpen?(file: Offered): Promise<void> | void;
  /** After the first chunk. */
  whileReading?(file: Offered): Promise<void> | void;
  /** Everything is read, and no job created yet. */
  beforeJob?(file: Offered): Promise<void> | void;
  afterJob?(file: Offered): Promise<void> | void;
}

export function takeWholeFile(context: EngineContext, hooks: TakeHooks = {}): TakeFile {
  return async (file) => {
    await hooks.beforeOpen?.(file);
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of await file.open()) {
      if (bytes === 0) await hooks.whileReading?.(file);
      bytes += chunk.length;
      hash.update(chunk);
      file.signal.throwIfAborted();
    }
    if (bytes !== file.expectedBytes) {
      throw new RowmillError('FILE_INCOMPLETE', `expected ${file.expectedBytes} bytes, got ${bytes}`);
    }
    await hooks.beforeJob?.(file);
    const { jobId } = await createJob(context, {
      pipeline: 'watched',
      phases: ['only'],
      name: file.name,
      params: { sha256: hash.digest('hex'), source: file.source.name, path: file.source.path },
      idempotencyKey: file.idempotencyKey,
    });
    await hooks.afterJob?.(file);
    return { jobId };
  };
}

export function sha256Of(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

// Chooses the pipeline for a file uploaded without a pipeline name, on a server with several: the one whose required
// fields the file has. The file is spooled and read as in a preview. If no pipeline or more than one matches, the
// caller has to name it.
import { createReadStream } from 'node:fs';
import type { z } from 'zod';
import type { newJob } from '../../contract/new-job.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { previewFile } from '../../ingest/preview-file.ts';
import { withSpooledFile } from '../../ingest/spool-file.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { ApiContext } from '../api-context.ts';
import { findPipeline } from './find-pipeline.ts';

export interface GivenFile {
  name: string;
  bytes: AsyncIterable<Uint8Array>;
}

export function withFittingPipeline<T>(
  { engine: { settings }, pipelines }: ApiContext,
  { format = {}, mapping = {} }: z.output<typeof newJob>,
  file: GivenFile,
  signal: AbortSignal,
  use: (pipeline: Pipeline, file: GivenFile) => Promise<T>,
): Promise<T> {
  const put = { maxBytes: settings.uploadMaxBytes, limitName: 'uploadMaxBytes', signal };
  return withSpooledFile(file.bytes, put, async ({ path }) => {
    const given = Object.entries(format).filter(([, value]) => value !== undefined);
    const fitting: Pipeline[] = [];
    for (const name of new Set(pipelines.map((pipeline) => pipeline.name))) {
      const pipeline = findPipeline(pipelines, name);
      const options = { pipeline, format: Object.fromEntries(given), mapping, rows: 0 };
      const { missing, looked } = await previewFile(path, options, settings, signal);
      const isReadable = looked.rows === 0 || looked.withProblems < looked.rows;
      if (isReadable && !missing.some(({ required }) => required)) fitting.push(pipeline);
    }
    const [only] = fitting;
    if (only && fitting.length === 1)
      return use(only, { name: file.name, bytes: createReadStream(path) as AsyncIterable<Uint8Array> });
    const fits = fitting.length === 0 ? 'none' : fitting.map(({ name }) => name).join(', ');
    throw new RowmillError(
      'REQUEST_INVALID',
      `expected the name of a pipeline; pipelines of this server that match the file ${file.name}: ${fits}`,
      {
        hint: 'Send a field job with {"pipeline": "…"} before the part file. GET /api/pipelines lists them.',
      },
    );
  });
}

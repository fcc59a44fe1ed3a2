// POST /api/jobs/preview: shows how a file would be read, and stores nothing.
import type { z } from 'zod';
import { jobRoutes } from '../../contract/jobs.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { sniffFile } from '../../ingest/open-rows.ts';
import { type FilePreview, previewFile } from '../../ingest/preview-file.ts';
import { readLimits } from '../../ingest/read-options.ts';
import { lookAtSourceFile } from '../../ingest/sources/take-source-file.ts';
import { withSpooledFile } from '../../ingest/spool-file.ts';
import type { ApiContext } from '../api-context.ts';
import { estimateJob } from './estimate-job.ts';
import { findPipeline } from './find-pipeline.ts';
import { findSource } from '../files/find-source.ts';
import { seenBy } from '../requests/actor.ts';
import type { Handler } from '../requests/handler.ts';
import { withUploadSlot } from './make-job.ts';
import { receiveUpload } from '../files/receive-upload.ts';

type Rows = z.output<(typeof jobRoutes.previewJob.answer)['schema']>['rows'];
type Request = Parameters<Handler<typeof jobRoutes.previewJob>>[0];
type Body = z.output<typeof jobRoutes.previewJob.body>;
interface GivenFile {
  name: string;
  bytes: AsyncIterable<Uint8Array>;
}

const DEFAULT_ROWS = 20;

export const previewJob: Handler<typeof jobRoutes.previewJob> = async (request, context) => {
  const { engine, signal } = request;
  return withUploadSlot(request, context, async () => {
    if (request.raw.isMultipart()) {
      const { body, file } = await receiveUpload(request.raw, jobRoutes.previewJob.body, engine.settings);
      if (body.source !== undefined)
        throw new RowmillError('REQUEST_INVALID', 'expected source or the part file, got both');
      return preview(request, context, body, file);
    }
    const { body } = request;
    if (body.source === undefined)
      throw new RowmillError('REQUEST_INVALID', 'expected source or a multipart part file, got none');
    const config = findSource(context, request.actor, body.source.name);
    return lookAtSourceFile(engine, config, body.source.path, signal, (file) =>
      preview(request, context, body, file),
    );
  });
};

async function preview(request: Request, context: ApiContext, body: Body, file: GivenFile) {
  const { actor, engine, signal } = request;
  const pipeline = body.pipeline === undefined ? null : findPipeline(context.pipelines, body.pipeline);
  const put = { maxBytes: engine.settings.uploadMaxBytes, limitName: 'uploadMaxBytes', signal };
  return withSpooledFile(file.bytes, put, async ({ path, bytes }) => {
    const given = Object.entries(body.format ?? {}).filter(([, value]) => value !== undefined);
    const options = {
      pipeline,
      format: Object.fromEntries(given),
      mapping: body.mapping ?? {},
      rows: body.rows ?? DEFAULT_ROWS,
      guess: body.guess,
      wantsTop: true,
    };
    const seen = (await isImages(engine, path, signal))
      ? IMAGES
      : await previewFile(path, options, engine.settings, signal);
    return {
      ...seen,
      detected: { ...seen.detected },
      rows: seen.rows as Rows,
      problemRows: seen.problemRows as Rows,
      file: { name: file.name, bytes },
      estimate: pipeline && (await estimateJob(engine.db, pipeline, seenBy(actor), seen.rows)),
    };
  });
}

async function isImages({ settings }: EngineContext, path: string, signal: AbortSignal): Promise<boolean> {
  const { kind } = await sniffFile(path, readLimits(settings), signal);
  return kind === 'image' || kind === 'imageZip';
}

/** Every image is a row, but the rows are only known once the images are stored. */
const IMAGES: FilePreview = {
  detected: { format: 'images', warnings: [] },
  top: null,
  columns: [],
  missing: [],
  rows: [],
  problemRows: [],
  looked: { rows: 0, withProblems: 0, wholeFile: false },
  checked: { rows: 0, rejected: 0, refused: 0, kinds: [], reasons: [], wholeFile: false, stoppedBy: null },
};

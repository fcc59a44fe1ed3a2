// POST /api/uploads/:uploadId/check: reads a whole uploaded file and reports the rows that would not run, as JSON lines
// while it reads. Nothing is stored: after a lost connection the check starts again, without another upload.
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { uploadRoutes } from '../../contract/uploads.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { checkFile, type CheckReport } from '../../ingest/preview-file.ts';
import { withSpooledFile } from '../../ingest/spool-file.ts';
import { checkIsComplete, readUploadedFile } from '../../ingest/submit-upload.ts';
import { findPipeline } from '../jobs/find-pipeline.ts';
import { takeUploadSlot } from '../jobs/make-job.ts';
import { RetryLaterError } from '../requests/answer-error.ts';
import type { Handler } from '../requests/handler.ts';
import { findUpload } from './find-upload.ts';

/** Not compressed: each line must arrive as soon as it is written. */
const CONTENT_TYPE = 'application/stream+json';
/** Checks of all callers in this process: they share its event loop. */
const CHECKS_AT_ONCE = 4;
const RETRY_MS = 2000;

export const checkUpload: Handler<typeof uploadRoutes.checkUpload> = async (request, context) => {
  const { actor, body, engine, params, signal } = request;
  const upload = await findUpload(context, actor, params.uploadId);
  const pipeline = findPipeline(context.pipelines, body.pipeline);
  if (upload.jobId !== null)
    throw new RowmillError('UPLOAD_NOT_FOUND', `upload ${params.uploadId} has become job ${upload.jobId}`);
  checkIsComplete(upload);
  const release = takeUploadSlot(request, context);
  const releaseCheck = context.slots.checks.take('', CHECKS_AT_ONCE);
  if (!releaseCheck) {
    release();
    throw new RetryLaterError('RATE_LIMITED', `expected at most ${CHECKS_AT_ONCE} checks at once`, RETRY_MS);
  }
  const lines = new PassThrough();
  const send = async (line: unknown): Promise<void> => {
    if (!lines.write(`${JSON.stringify(line)}\n`)) await once(lines, 'drain', { signal });
  };
  const given = Object.entries(body.format ?? {}).filter(([, value]) => value !== undefined);
  const options = { pipeline, format: Object.fromEntries(given), mapping: body.mapping ?? {} };
  const check = async (): Promise<void> => {
    const put = { maxBytes: engine.settings.uploadMaxBytes, limitName: 'uploadMaxBytes', signal };
    const bytes = await readUploadedFile(engine, params.uploadId);
    await withSpooledFile(bytes, put, ({ path }) =>
      checkFile(path, options, engine.settings, (report: CheckReport) => send(report), signal),
    );
  };
  const run = async (): Promise<void> => {
    try {
      await check();
      lines.end();
    } catch (error) {
      if (signal.aborted) return void lines.destroy();
      if (!(error instanceof RowmillError)) return void lines.destroy(error as Error);
      // The status is sent already, so a file that cannot be read is the last line.
      const { code, message, hint } = error;
      lines.end(`${JSON.stringify({ error: { code, message, hint } })}\n`);
    } finally {
      release();
      releaseCheck();
    }
  };
  void run();
  return { stream: lines, name: 'check.jsonl', contentType: CONTENT_TYPE };
};

// Results as files: streamed, prepared in the background, or written when the job finished.
import { Readable } from 'node:stream';
import type { fileRoutes } from '../../contract/files.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { recordAudit } from '../../engine/record-audit.ts';
import { chooseBytes, rangeOf } from '../answers/choose-bytes.ts';
import { sendDownload } from '../answers/send-download.ts';
import { prepareInBackground, streamExport } from '../files/open-exports.ts';
import { listJobFiles, shownFile } from '../jobs/list-job-files.ts';
import type { Handlers } from '../requests/handler.ts';

export const fileHandlers: Handlers<typeof fileRoutes> = {
  exportJob: streamExport,
  prepareExport: prepareInBackground,

  async listFiles({ engine, job }) {
    return { items: (await listJobFiles(engine.db, job)).map(shownFile) };
  },

  async downloadFile(request, context) {
    const { engine, job, params, raw, reply } = request;
    const file = (await listJobFiles(engine.db, job)).find((each) => each.fileId === params.fileId);
    if (!file) throw notFound();
    const { blobKey, name, downloadName, contentType, sha256 } = file;
    if (blobKey === null)
      throw new RowmillError(
        'EXPORT_NOT_READY',
        file.state === 'FAILED' ? `the export failed: ${file.error}` : 'the export is being prepared',
        file.state === 'FAILED' ? {} : { retryAfterMs: 1000 },
      );
    const bytes = file.bytes ?? (await engine.blobs.head(blobKey))?.bytes;
    if (bytes === undefined) throw notFound();
    // A blob key is written only once, so it identifies the content.
    const etag = `"${sha256 ?? blobKey.slice(blobKey.lastIndexOf('/') + 1)}"`;
    const modifiedAt = new Date(file.createdAt);
    const chosen = chooseBytes(raw, reply, { bytes, etag, modifiedAt });
    const answer = { name: downloadName, contentType, stored: { bytes, etag, modifiedAt, chosen } };
    if (chosen.kind === 'known') return { ...answer, stream: Readable.from([]) };
    return sendDownload(context, request, async () => {
      const bytesOf = await engine.blobs.get(blobKey, rangeOf(chosen)).catch((error: unknown) => {
        throw error instanceof RowmillError && error.code === 'BLOB_NOT_FOUND' ? notFound() : error;
      });
      try {
        const detail = { fileId: file.fileId, name, sha256 };
        await recordAudit(engine.db, engine, {
          action: 'job.file_download',
          subject: `job ${job.jobId}`,
          detail,
        });
      } catch (error) {
        bytesOf.destroy();
        throw error;
      }
      if (sha256 !== null)
        void reply.header('repr-digest', `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`);
      return { bytesOf, ...answer };
    });
  },
};

function notFound(): RowmillError {
  return new RowmillError('FILE_NOT_FOUND', 'the job has no such file');
}

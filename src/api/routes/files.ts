// Results as files: streamed, prepared in the background, or left by the job when it ended.
import type { fileRoutes } from '../../contract/files.ts';
import { RowmillError } from '../../core/rowmill-error.ts';
import { auditJob } from '../../engine/audit-job.ts';
import type { Handlers } from '../handler.ts';
import { listJobFiles, shownFile } from '../list-job-files.ts';
import { prepareInBackground, streamExport } from '../open-exports.ts';
import { sendDownload } from '../send-download.ts';

export const fileHandlers: Handlers<typeof fileRoutes> = {
  exportJob: streamExport,
  prepareExport: prepareInBackground,

  async listFiles({ engine, job }) {
    return { items: (await listJobFiles(engine.db, job)).map(shownFile) };
  },

  async downloadFile(request, context) {
    const { engine, job, params, reply } = request;
    const file = (await listJobFiles(engine.db, job)).find((each) => each.fileId === params.fileId);
    if (!file) throw notFound();
    const { blobKey, name, contentType, bytes, sha256 } = file;
    if (blobKey === null)
      throw new RowmillError(
        'EXPORT_NOT_READY',
        file.state === 'FAILED' ? `the export failed: ${file.error}` : 'the export is being prepared',
      );
    return sendDownload(context, request, async () => {
      const bytesOf = await engine.blobs.get(blobKey).catch((error: unknown) => {
        throw error instanceof RowmillError && error.code === 'BLOB_NOT_FOUND' ? notFound() : error;
      });
      try {
        const detail = { fileId: file.fileId, name, sha256 };
        await auditJob(engine.db, engine, job.jobId, 'job.file_download', detail);
      } catch (error) {
        bytesOf.destroy();
        throw error;
      }
      if (sha256 !== null)
        void reply.header('repr-digest', `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`);
      return { bytesOf, name, contentType, ...(bytes !== null && { bytes }) };
    });
  },
};

function notFound(): RowmillError {
  return new RowmillError('FILE_NOT_FOUND', 'the job has no such file');
}

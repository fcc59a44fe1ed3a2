// Files uploaded in parts.
import { Readable } from 'node:stream';
import type { uploadRoutes } from '../../contract/uploads.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { appendUpload } from '../../engine/uploads/append-upload.ts';
import { beginUpload } from '../../engine/uploads/begin-upload.ts';
import { removeUpload } from '../../engine/uploads/remove-upload.ts';
import type { Upload } from '../../store/views/files/read-upload.ts';
import { ownerOf } from '../requests/actor.ts';
import { checkStorable } from '../requests/check-storable.ts';
import { checkUpload } from '../files/check-upload.ts';
import { findUpload } from '../files/find-upload.ts';
import type { Handlers } from '../requests/handler.ts';
import { withUploadSlot } from '../jobs/make-job.ts';
import { untilIdle } from '../files/receive-upload.ts';

export const uploadHandlers: Handlers<typeof uploadRoutes> = {
  async createUpload({ actor, body, engine }, context) {
    checkStorable(body);
    const uploadId = await beginUpload(engine, { ownerId: ownerOf(actor), ...body });
    return shownUpload(await findUpload(context, actor, uploadId));
  },
  getUpload: async ({ actor, params }, context) =>
    shownUpload(await findUpload(context, actor, params.uploadId)),
  async appendUpload(request, context) {
    const { actor, engine, params, query, raw, reply, signal } = request;
    return withUploadSlot(request, context, async () => {
      const upload = await findUpload(context, actor, params.uploadId);
      void reply.header('upload-offset', upload.received);
      if (!(raw.body instanceof Readable))
        throw new RowmillError('REQUEST_INVALID', 'expected bytes as application/octet-stream');
      const received = await appendUpload(engine, upload, {
        start: query.offset,
        bytes: untilIdle(raw.body, engine.settings.apiIdleMs),
        sha256: digestOf(raw.headers['content-digest']),
        signal,
      });
      void reply.header('upload-offset', received);
      return shownUpload({ ...upload, received });
    });
  },
  checkUpload,
  async deleteUpload({ actor, engine, params }, context) {
    const { uploadId } = await findUpload(context, actor, params.uploadId);
    await removeUpload(engine, uploadId);
    return undefined;
  },
};

function shownUpload({ uploadId, name, bytes, received, jobId, expiresAt }: Upload) {
  return { uploadId, name, bytes, offset: received, jobId, expiresAt: expiresAt.toISOString() };
}

/** The SHA-256 of a Content-Digest header (RFC 9530) in hex. Other algorithms are ignored. */
function digestOf(header: string | string[] | undefined): string | null {
  const found = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/.exec(String(header ?? ''));
  return found ? Buffer.from(found[1]!, 'base64').toString('hex') : null;
}

// Files uploaded in parts. A client that was disconnected or paused asks for the offset and resumes from there.
import { z } from 'zod';
import { defineRoutes } from './route.ts';
import { formatOptions, mapping } from './new-job.ts';
import { name, time } from './values.ts';

const uploadParams = z.object({ uploadId: z.uuid() });

export const upload = z
  .object({
    uploadId: z.uuid(),
    name: z.string(),
    bytes: z.number(),
    /** Bytes received so far: the next part starts here. */
    offset: z.number(),
    /** The job created from the file. */
    jobId: z.uuid().nullable(),
    expiresAt: time,
  })
  .meta({ id: 'Upload' });

const write = { access: 'member', scope: 'write' } as const;

export const uploadRoutes = defineRoutes({
  createUpload: {
    ...write,
    method: 'POST',
    path: '/api/uploads',
    summary: 'Start an upload in parts. Create a job from it with createJob.',
    body: z.strictObject({ name, bytes: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER) }),
    answer: { status: 201, schema: upload },
    errors: ['FILE_TOO_LARGE', 'QUOTA_EXCEEDED'],
  },
  getUpload: {
    ...write,
    method: 'GET',
    path: '/api/uploads/:uploadId',
    summary: 'State of an upload: how many bytes have been received.',
    params: uploadParams,
    answer: { status: 200, schema: upload },
    errors: ['UPLOAD_NOT_FOUND'],
  },
  appendUpload: {
    ...write,
    idempotency: 'refused',
    method: 'POST',
    path: '/api/uploads/:uploadId/parts',
    summary: 'Append the next bytes to an upload.',
    params: uploadParams,
    query: z.strictObject({
      /** Start of these bytes: the current offset of the upload. */
      offset: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
    }),
    takesBytes: true,
    answer: { status: 200, schema: upload },
    errors: [
      'UPLOAD_NOT_FOUND',
      'UPLOAD_OFFSET_WRONG',
      'FILE_TOO_LARGE',
      'FILE_INCOMPLETE',
      'BLOB_STORE_UNAVAILABLE',
    ],
  },
  checkUpload: {
    ...write,
    idempotency: 'refused',
    method: 'POST',
    path: '/api/uploads/:uploadId/check',
    summary:
      'Check all rows of an uploaded file against a pipeline: problems by kind, and rows with problems, as JSON lines.',
    params: uploadParams,
    body: z.strictObject({
      /** May be left out if the server has only one. */
      pipeline: name.optional(),
      format: formatOptions.optional(),
      mapping: mapping.optional(),
    }),
    answer: { status: 200, schema: null, type: 'bytes' },
    errors: ['PIPELINE_NOT_FOUND', 'UPLOAD_NOT_FOUND', 'FILE_INCOMPLETE', 'BLOB_STORE_UNAVAILABLE'],
  },
  deleteUpload: {
    ...write,
    method: 'DELETE',
    path: '/api/uploads/:uploadId',
    summary: 'Abort an upload and delete its parts.',
    params: uploadParams,
    answer: { status: 204, schema: null },
    errors: ['UPLOAD_NOT_FOUND', 'BLOB_STORE_UNAVAILABLE'],
  },
});

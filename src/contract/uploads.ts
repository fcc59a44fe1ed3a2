// Files that are sent in parts: a client that was cut off, or paused, asks how much is there and goes on behind it.
import { z } from 'zod';
import { defineRoutes } from './route.ts';
import { name, time } from './values.ts';

const uploadParams = z.object({ uploadId: z.uuid() });

export const upload = z
  .object({
    uploadId: z.uuid(),
    name: z.string(),
    bytes: z.number(),
    /** How much is there: the next part begins here. */
    offset: z.number(),
    /** The job that was made of it. */
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
    summary: 'Announce a file that comes in parts. A job is made of it with createJob.',
    body: z.strictObject({ name, bytes: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER) }),
    answer: { status: 201, schema: upload },
    errors: ['FILE_TOO_LARGE', 'QUOTA_EXCEEDED'],
  },
  getUpload: {
    ...write,
    method: 'GET',
    path: '/api/uploads/:uploadId',
    summary: 'How much of it is there.',
    params: uploadParams,
    answer: { status: 200, schema: upload },
    errors: ['UPLOAD_NOT_FOUND'],
  },
  appendUpload: {
    ...write,
    idempotency: 'refused',
    method: 'POST',
    path: '/api/uploads/:uploadId/parts',
    summary: 'The next bytes of it, as they are.',
    params: uploadParams,
    query: z.strictObject({
      /** Where they begin: as much as is there. */
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
  deleteUpload: {
    ...write,
    method: 'DELETE',
    path: '/api/uploads/:uploadId',
    summary: 'Give it up: its parts are removed.',
    params: uploadParams,
    answer: { status: 204, schema: null },
    errors: ['UPLOAD_NOT_FOUND', 'BLOB_STORE_UNAVAILABLE'],
  },
});

// Results as files: streamed as they are asked for, prepared in the background, or left by the job when it ended.
import { z } from 'zod';
import { defineRoutes } from './route.ts';
import { flag, generation, jobParams, pageOf, rowFilterQuery, shortPage, time } from './values.ts';

const exportQuery = z.strictObject({
  format: z.enum(['csv', 'xlsx', 'jsonl']).default('csv'),
  /** Rows with their results, or rows of the file that could not become any, which no filter concerns. */
  kind: z.enum(['results', 'rejected']).default('results'),
  ...rowFilterQuery,
  /** Row numbers such as 0-99,250. */
  rows: z
    .string()
    .regex(/^[\d,-]+$/)
    .max(10_000)
    .optional(),
  generation: generation.optional(),
  /** Columns to write, in this order; default all. */
  columns: z.string().max(50_000).optional(),
  /** CSV: leave cells alone that a spreadsheet would take for a formula. */
  raw: flag.optional(),
  bom: flag.optional(),
});

export const jobFile = z
  .object({
    /** For the path of the download. */
    fileId: z.string(),
    kind: z.enum(['input', 'output', 'export']),
    name: z.string(),
    bytes: z.number().nullable(),
    sha256: z.string().nullable(),
    generation: z.number().nullable(),
    /** An export is PREPARING until it can be fetched. */
    state: z.enum(['READY', 'PREPARING', 'FAILED']),
    error: z.string().nullable(),
    rows: z.number().nullable(),
    createdAt: time,
    expiresAt: time.nullable(),
  })
  .meta({ id: 'JobFile' });

export const fileRoutes = defineRoutes({
  exportJob: {
    method: 'GET',
    path: '/api/jobs/:jobId/export',
    summary: 'Results as a file, streamed; filters as for the list of rows.',
    access: 'viewer',
    scope: 'export',
    params: jobParams,
    query: exportQuery,
    answer: { status: 200, schema: null, type: 'bytes' },
    errors: ['EXPORT_INVALID', 'TOO_MANY_EXPORTS'],
  },
  prepareExport: {
    method: 'POST',
    path: '/api/jobs/:jobId/export',
    summary: 'Prepare such a file in the background; it is found among the files of the job.',
    access: 'viewer',
    scope: 'export',
    params: jobParams,
    query: exportQuery,
    answer: { status: 202, schema: jobFile },
    errors: ['EXPORT_INVALID', 'TOO_MANY_EXPORTS'],
  },
  listFiles: {
    method: 'GET',
    path: '/api/jobs/:jobId/files',
    summary: 'Its input, its output files and prepared exports, with checksums.',
    access: 'viewer',
    scope: 'read',
    params: jobParams,
    query: z.strictObject(shortPage),
    pagedBy: ['fileId'],
    answer: { status: 200, schema: pageOf(jobFile) },
    errors: ['CURSOR_INVALID'],
  },
  downloadFile: {
    method: 'GET',
    path: '/api/jobs/:jobId/files/:fileId',
    summary: 'One of these files.',
    access: 'viewer',
    scope: 'export',
    params: jobParams.extend({ fileId: z.string().min(1).max(200) }),
    answer: { status: 200, schema: null, type: 'bytes', hasRanges: true },
    errors: ['FILE_NOT_FOUND', 'EXPORT_NOT_READY', 'TOO_MANY_EXPORTS', 'BLOB_STORE_UNAVAILABLE'],
  },
});

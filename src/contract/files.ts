// Results as files: streamed on request, prepared in the background, or written when the job finishes.
import { z } from 'zod';
import { CSV_DELIMITERS } from '../core/files/output-format.ts';
import { defineRoutes } from './route.ts';
import { flag, generation, jobParams, pageOf, rowFilterQuery, shortPage, time } from './values.ts';

const exportQuery = z.strictObject({
  format: z.enum(['csv', 'xlsx', 'jsonl']).default('csv'),
  /**
   * `results`: rows with their results. `rejected`: rows of the file that could not be stored; filters do not apply.
   */
  kind: z.enum(['results', 'rejected']).default('results'),
  ...rowFilterQuery,
  /** Row numbers such as 0-99,250. */
  rows: z
    .string()
    .regex(/^[\d,-]+$/)
    .max(10_000)
    .optional(),
  generation: generation.optional(),
  /** Rows of any of these error groups: a JSON array such as [{"errorGroup": "invalid: no sku", "phase": 0}]. */
  errorGroups: z.string().max(50_000).optional(),
  /** Columns to write, in this order; default: all. */
  columns: z.string().max(50_000).optional(),
  /** CSV: does not escape cells that a spreadsheet would read as a formula. */
  raw: flag.optional(),
  /** CSV: starts with a byte order mark, which some versions of Excel need to recognise UTF-8. */
  bom: flag.optional(),
  /** CSV: `,` by default. Excel expects `;` where the decimal separator is a comma. */
  delimiter: z.enum(CSV_DELIMITERS).optional(),
});

export const jobFile = z
  .object({
    /** Part of the download path. */
    fileId: z.string(),
    kind: z.enum(['input', 'output', 'export']),
    name: z.string(),
    /** Name of the downloaded file, after the input file; files of earlier runs name their run. */
    downloadName: z.string(),
    bytes: z.number().nullable(),
    sha256: z.string().nullable(),
    generation: z.number().nullable(),
    /** An export is PREPARING until it can be downloaded. */
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
    summary: 'Results as a streamed file. Takes the same filters as the list of rows.',
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
    summary: 'Prepare an export in the background. It appears in the files of the job.',
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
    summary: 'Input, output files and prepared exports of a job, with checksums.',
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
    summary: 'Download a file of a job.',
    access: 'viewer',
    scope: 'export',
    params: jobParams.extend({ fileId: z.string().min(1).max(200) }),
    answer: { status: 200, schema: null, type: 'bytes', hasRanges: true },
    errors: ['FILE_NOT_FOUND', 'EXPORT_NOT_READY', 'TOO_MANY_EXPORTS', 'BLOB_STORE_UNAVAILABLE'],
  },
});

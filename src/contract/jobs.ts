// Jobs as they are listed and shown, and the routes that create, list, show, change and delete them.
import { z } from 'zod';
import { budget, createdJob, formatOptions, mapping, newJob, preview } from './new-job.ts';
import { defineRoutes } from './route.ts';
import {
  flag,
  generation,
  itemStatus,
  jobId,
  jobOutcome,
  jobParams,
  jobState,
  json,
  listOf,
  name,
  ownerId,
  page,
  pageOf,
  time,
} from './values.ts';

export const column = z.object({ key: z.string(), header: z.string() });

const counts = z.object({
  PENDING: z.number(),
  PROCESSING: z.number(),
  DONE: z.number(),
  ERROR: z.number(),
  NOT_FOUND: z.number(),
  SKIPPED: z.number(),
  CANCELLED: z.number(),
});

export const listedJob = z
  .object({
    jobId,
    name: z.string(),
    pipeline: z.string(),
    ownerId: z.string(),
    state: jobState,
    /** Outcome of its rows; null until it has finished. */
    outcome: jobOutcome.nullable(),
    generation: z.number(),
    priority: z.number(),
    itemCount: z.number(),
    sealed: z.boolean(),
    counts,
    /** Items ended per second over the last `rateWindowMs`: a minute, or less while the run is younger. */
    perSecond: z.number(),
    rateWindowMs: z.number(),
    cost: z.number(),
    pausedBecause: z.string().nullable(),
    /** Why no running worker can go on with it. */
    blockedBecause: z.string().nullable(),
    /** Of a job that failed: why. */
    lastError: z.string().nullable(),
    /** Rows that wait until it is resumed. */
    held: z.number(),
    createdAt: time,
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
  })
  .meta({ id: 'ListedJob' });

export const job = listedJob
  .extend({
    phases: z.array(z.string()),
    pipelineVersion: z.string().nullable(),
    params: json,
    source: z
      .object({
        kind: z.string(),
        name: z.string(),
        bytes: z.number(),
        sha256: z.string(),
        detected: z.looseObject({}),
      })
      .nullable(),
    columns: z.array(column),
    /** Columns of results so far. */
    resultColumns: z.array(z.string()),
    ingestReport: z.record(z.string(), z.number()),
    updatesJobId: jobId.nullable(),
    outputs: z.array(z.string()),
    budget: z.object({ max: z.number().nullable(), perItem: z.number().nullable() }),
    budgets: z.array(z.looseObject({})),
    /** Pending rows that were tried before and wait for their next attempt. */
    retrying: z.number(),
    /** Pending rows that were not tried yet: a rate limit or a budget has nothing left for them. */
    limited: z.number(),
    /** Rows that ended in the current run; `counts` are of all rows of the job. */
    endedThisRun: z.number(),
    retried: z.number(),
    fenced: z.number(),
    workers: z.number(),
    /** Per phase: what has ended there, went on, and took how long. */
    perPhase: z.array(
      z.object({
        name: z.string(),
        waiting: z.number(),
        processing: z.number(),
        done: z.number(),
        error: z.number(),
        notFound: z.number(),
        skipped: z.number(),
        advanced: z.number(),
        retried: z.number(),
        handlerMs: z.number(),
      }),
    ),
    /** When it will be done, and from what that follows; null: nothing is known. */
    eta: z.object({ at: time, basis: z.string() }).nullable(),
    /** Resources in use by its pipeline, and what of them may be used now. */
    limits: z.array(z.looseObject({ name: z.string(), key: z.string() })),
    /** Why rows wait although there are slots for them. */
    slowBecause: z.string().nullable(),
    sealedAt: time.nullable(),
    cancelledAt: time.nullable(),
    createdBy: z.string().nullable(),
  })
  .meta({ id: 'Job' });

export const summary = z
  .object({
    generation: z.number(),
    /** How the job ended. */
    state: jobState,
    /** Outcome of its rows. */
    outcome: jobOutcome,
    total: z.number(),
    counts: z.record(itemStatus, z.number()),
    phases: z.array(z.looseObject({})),
    timings: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
    cost: z.number(),
    files: z.array(z.looseObject({})),
    diff: z.looseObject({}).nullable(),
    createdAt: time,
  })
  .meta({ id: 'Summary' });

export const jobRoutes = defineRoutes({
  createJob: {
    idempotency: 'own',
    method: 'POST',
    path: '/api/jobs',
    summary:
      'Make a job from a file, a file of a configured source, or items. Answers as soon as the bytes are safe.',
    access: 'member',
    scope: 'write',
    body: newJob,
    upload: true,
    answer: { status: 202, schema: createdJob },
    errors: [
      'PIPELINE_NOT_FOUND',
      'SOURCE_NOT_FOUND',
      'SOURCE_UNAVAILABLE',
      'UPLOAD_NOT_FOUND',
      'BLOB_STORE_UNAVAILABLE',
      'JOB_NOT_FOUND',
      'JOB_CONFLICT',
      'JOB_BUSY',
      'ITEM_INVALID',
      'BUDGET_INVALID',
      'FILE_INVALID',
      'FILE_UNSUPPORTED',
      'FILE_TOO_LARGE',
      'FILE_INCOMPLETE',
      'FILE_OPTION_INVALID',
      'COLUMNS_MISSING',
      'QUOTA_EXCEEDED',
    ],
  },
  previewJob: {
    idempotency: 'refused',
    method: 'POST',
    path: '/api/jobs/preview',
    summary: 'How a file would be read: dialect, columns, first rows, mapping, problems. Nothing is kept.',
    access: 'member',
    scope: 'write',
    body: z.strictObject({
      pipeline: name.optional(),
      format: formatOptions.optional(),
      mapping: mapping.optional(),
      rows: z.number().int().min(1).max(200).optional(),
      source: z.strictObject({ name, path: z.string().min(1).max(2000) }).optional(),
    }),
    upload: true,
    answer: { status: 200, schema: preview },
    errors: [
      'PIPELINE_NOT_FOUND',
      'SOURCE_NOT_FOUND',
      'SOURCE_UNAVAILABLE',
      'FILE_INVALID',
      'FILE_UNSUPPORTED',
      'FILE_TOO_LARGE',
      'FILE_INCOMPLETE',
      'FILE_OPTION_INVALID',
      'COLUMNS_MISSING',
    ],
  },
  listJobs: {
    method: 'GET',
    path: '/api/jobs',
    summary: "The caller's jobs, newest first.",
    access: 'viewer',
    scope: 'read',
    query: z.strictObject({
      states: listOf(jobState).optional(),
      pipeline: name.optional(),
      /** In the name or the id. */
      search: z.string().min(1).max(200).optional(),
      ownerId: ownerId.optional(),
      /** For admins: those of everybody. */
      all: flag.optional(),
      ...page,
    }),
    answer: { status: 200, schema: pageOf(listedJob) },
    errors: ['CURSOR_INVALID', 'FORBIDDEN'],
  },
  getJob: {
    method: 'GET',
    path: '/api/jobs/:jobId',
    summary: 'A job: counts per phase and status, rates, when it will be done, limits in force.',
    access: 'viewer',
    scope: 'read',
    params: jobParams,
    answer: { status: 200, schema: job },
  },
  getSummary: {
    method: 'GET',
    path: '/api/jobs/:jobId/summary',
    summary: 'What a finished generation came to; of the current one by default.',
    access: 'viewer',
    scope: 'read',
    params: jobParams,
    query: z.strictObject({ generation: generation.optional() }),
    answer: { status: 200, schema: summary },
    errors: ['SUMMARY_NOT_FOUND'],
  },
  changeJob: {
    method: 'PATCH',
    path: '/api/jobs/:jobId',
    summary: 'Change name, priority or budget.',
    access: 'member',
    scope: 'write',
    params: jobParams,
    body: z.strictObject({
      name: name.optional(),
      priority: z.number().int().min(-30_000).max(30_000).optional(),
      budget: budget.optional(),
    }),
    answer: { status: 200, schema: job },
    errors: ['BUDGET_INVALID', 'JOB_CONFLICT'],
  },
  deleteJob: {
    method: 'DELETE',
    path: '/api/jobs/:jobId',
    summary: 'Remove a finished job with its rows, results and files.',
    access: 'member',
    scope: 'write',
    params: jobParams,
    answer: { status: 204, schema: null },
    errors: ['JOB_CONFLICT', 'JOB_RETAINED'],
  },
});

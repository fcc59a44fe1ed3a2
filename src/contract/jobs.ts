// Jobs: made from a file, a configured source or items; listed, looked at, changed, removed.
import { z } from 'zod';
import { JOB_OUTPUTS } from '../core/files/output-format.ts';
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
  jsonObject,
  listOf,
  name,
  ownerId,
  page,
  pageOf,
  row,
  time,
} from './values.ts';

const amount = z.number().min(0).max(1e15);

export const formatOptions = z
  .strictObject({
    format: z.enum(['csv', 'xlsx', 'jsonl', 'json', 'urls', 'images']).optional(),
    encoding: z.string().min(1).max(50).optional(),
    delimiter: z.string().max(10).optional(),
    quote: z.string().max(1).optional(),
    escape: z.string().max(1).optional(),
    header: z.boolean().optional(),
    skipLines: z.number().int().min(0).max(1_000_000).optional(),
    columns: z.array(z.string().max(1000)).max(10_000).optional(),
    shortRows: z.enum(['reject', 'pad']).optional(),
    sheet: z.string().max(100).optional(),
  })
  .meta({ id: 'FormatOptions', description: 'What is known about the file; the rest is found out.' });

/** Field of the pipeline's input to column of the file. */
const mapping = z.record(z.string().max(500), z.string().max(1000));

const budget = z.strictObject({ max: amount.nullable().optional(), perItem: amount.nullable().optional() });

/** Options of a new job, whatever its rows come from. */
const newJobOptions = {
  /** May be left out where one pipeline is meant: the only one of the server, or the only one that an uploaded file fits. */
  pipeline: name.optional(),
  name: name.optional(),
  /** Team or account it belongs to. Default: the caller's team, else the caller. */
  ownerId: ownerId.optional(),
  params: jsonObject.optional(),
  priority: z.number().int().min(-30_000).max(30_000).optional(),
  outputs: z.array(z.enum(JOB_OUTPUTS)).max(JOB_OUTPUTS.length).optional(),
  /** Created paused: nothing runs before it is resumed. */
  hold: z.boolean().optional(),
  /** Run the first so many rows, hold the rest until resumed. */
  trial: z.number().int().min(1).optional(),
  budget: budget.optional(),
  /** Fields that name a row. */
  key: z.array(z.string().min(1).max(500)).max(20).optional(),
};

const fileOptions = {
  format: formatOptions.optional(),
  mapping: mapping.optional(),
  /** A new job, although the same file may have one. */
  again: z.boolean().optional(),
  /** The job that this file corrects. */
  updatesJobId: jobId.optional(),
};

export const newJob = z
  .strictObject({
    ...newJobOptions,
    ...fileOptions,
    /** Rows themselves. One of items, source, or the part `file` of a multipart body. */
    items: z.array(row).max(100_000).optional(),
    /** With items: more will follow, until `seal`. */
    open: z.boolean().optional(),
    /** A file of a configured source. */
    source: z.strictObject({ name, path: z.string().min(1).max(2000) }).optional(),
    /** A file that was sent in parts. With its checksum another file is refused. */
    upload: z
      .strictObject({
        uploadId: z.uuid(),
        sha256: z
          .string()
          .regex(/^[0-9a-f]{64}$/)
          .optional(),
      })
      .optional(),
  })
  .meta({ id: 'NewJob' });

export const createdJob = z.object({ jobId, created: z.boolean() }).meta({ id: 'CreatedJob' });

export const column = z.object({ key: z.string(), header: z.string() });

export const preview = z
  .object({
    file: z.object({ name: z.string(), bytes: z.number() }),
    /** How it is read: format, dialect, encoding, sheets, warnings. */
    detected: z.looseObject({ format: z.string(), warnings: z.array(z.string()) }),
    columns: z.array(
      z.object({
        /** As it stands in the file. */
        header: z.string(),
        /** Field of the pipeline it goes to; null: it is not stored. */
        field: z.string().nullable(),
      }),
    ),
    /** Fields of the pipeline without a column, and which columns could be meant. */
    missing: z.array(
      z.object({ field: z.string(), required: z.boolean(), suggestions: z.array(z.string()) }),
    ),
    rows: z.array(
      z.object({
        line: z.number(),
        input: jsonObject.nullable(),
        /** Why it would be refused or fail at once; what was repaired. */
        problems: z.array(z.object({ field: z.string().nullable(), message: z.string() })),
      }),
    ),
    /** Of the rows that were looked at. */
    looked: z.object({ rows: z.number(), withProblems: z.number(), wholeFile: z.boolean() }),
    /** The rows that would not run, among more rows than are looked at; bounded in rows and time. */
    checked: z.object({
      rows: z.number(),
      /** Cannot be read; will not be stored. */
      rejected: z.number(),
      /** Refused by the pipeline's input; will be stored and fail at once. */
      refused: z.number(),
      /** The first few. */
      reasons: z.array(z.object({ line: z.number(), reason: z.string() })),
      wholeFile: z.boolean(),
      /** The bound that ended the check before the file did. */
      stoppedBy: z.enum(['rows', 'time']).nullable(),
    }),
  })
  .meta({ id: 'Preview' });

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

// Jobs as listed and shown, and the routes that create, list, show, change and delete them.
import { z } from 'zod';
import { RETENTION_RULES } from '../core/jobs/retention.ts';
import { JOB_NEEDS } from '../core/jobs/job-need.ts';
import { UNFINISHED_PARTS } from '../core/jobs/unfinished-rows.ts';
import { budget, createdJob, formatOptions, mapping, newJob, preview } from './new-job.ts';
import { eta, unfinishedRows } from './progress.ts';
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
  keepDays,
  listOf,
  name,
  ownerId,
  page,
  pageOf,
  time,
} from './values.ts';

/** Currency code, `tokens` or another word; null if the pipeline declares none. */
const costUnit = z.string().nullable();

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
    /** Outcome of its rows; null until the job has finished. */
    outcome: jobOutcome.nullable(),
    generation: z.number(),
    priority: z.number(),
    itemCount: z.number(),
    sealed: z.boolean(),
    counts,
    /** Items completed per second over the last `rateWindowMs`: one minute, or less while the run is younger. */
    perSecond: z.number(),
    rateWindowMs: z.number(),
    cost: z.number(),
    costUnit,
    pausedBecause: z.string().nullable(),
    /** Why no running worker can process the job. */
    blockedBecause: z.string().nullable(),
    /** Why the job failed. */
    lastError: z.string().nullable(),
    /** Rows that wait until the job is resumed. */
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
    /** Pending rows that wait for a retry. */
    retrying: z.number(),
    /** Pending rows that have not run yet and wait for a rate limit or a budget. */
    limited: z.number(),
    /** Rows completed in the current run; `counts` covers all rows of the job. */
    endedThisRun: z.number(),
    retried: z.number(),
    fenced: z.number(),
    workers: z.number(),
    /** Rows and handler time per phase. */
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
    unfinished: unfinishedRows,
    /** Why rows wait, by part of `unfinished`, in a sentence for people. */
    waitingBecause: z.partialRecord(z.enum(UNFINISHED_PARTS), z.string()),
    eta,
    etaUnknownBecause: z.string().nullable(),
    /** Resources that the pipeline uses, with their current limits. */
    limits: z.array(z.looseObject({ name: z.string(), key: z.string() })),
    /** Why rows wait although slots are free: a plain sentence, and the technical reasons behind it. */
    slowSummary: z.string().nullable(),
    slowBecause: z.string().nullable(),
    /** Time that all runs of a finished job took, without the time between them; null while it runs. */
    runMs: z.number().nullable(),
    /** How long the finished job is kept: days, 0 for ever, and the rule that decided. */
    retention: z.object({
      keepDays: z.number(),
      decidedBy: z.enum(RETENTION_RULES),
      expiresAt: time.nullable(),
    }),
    sealedAt: time.nullable(),
    cancelledAt: time.nullable(),
    createdBy: z.string().nullable(),
  })
  .meta({ id: 'Job' });

export const summary = z
  .object({
    generation: z.number(),
    /** State in which the job finished. */
    state: jobState,
    /** Outcome of its rows. */
    outcome: jobOutcome,
    total: z.number(),
    counts: z.record(itemStatus, z.number()),
    phases: z.array(z.looseObject({})),
    timings: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
    cost: z.number(),
    costUnit,
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
      'Create a job from a file, a file of a configured source, or items. Responds as soon as the data is stored.',
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
    summary:
      'Preview how a file would be read: dialect, columns, first rows, mapping, problems. Nothing is stored.',
    access: 'member',
    scope: 'write',
    body: z.strictObject({
      pipeline: name.optional(),
      format: formatOptions.optional(),
      mapping: mapping.optional(),
      rows: z.number().int().min(1).max(200).optional(),
      /** Also guess columns from words of their names and from their values; send those to keep as `mapping`. */
      guess: z.boolean().optional(),
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
      /** Only jobs that need a person for this reason. */
      needs: z.enum(JOB_NEEDS).optional(),
      /** Matches the name or the id. */
      search: z.string().min(1).max(200).optional(),
      ownerId: ownerId.optional(),
      /** For admins: lists the jobs of all owners. */
      all: flag.optional(),
      ...page,
    }),
    answer: { status: 200, schema: pageOf(listedJob) },
    errors: ['CURSOR_INVALID', 'FORBIDDEN'],
  },
  findJobs: {
    method: 'GET',
    path: '/api/job-ids',
    summary: 'Jobs that the caller may open and whose id starts with the given characters.',
    access: 'viewer',
    scope: 'read',
    query: z.strictObject({
      prefix: z.string().regex(/^[0-9a-f-]{1,36}$/i, 'expected the first characters of the id of a job'),
      limit: z.coerce.number().int().min(1).max(100).default(10),
    }),
    answer: {
      status: 200,
      schema: z.object({
        items: z.array(z.object({ jobId, name: z.string(), pipeline: z.string(), createdAt: time })),
      }),
    },
  },
  getJob: {
    method: 'GET',
    path: '/api/jobs/:jobId',
    summary: 'A job: counts per phase and status, rates, estimated completion, current limits.',
    access: 'viewer',
    scope: 'read',
    params: jobParams,
    answer: { status: 200, schema: job },
  },
  getSummary: {
    method: 'GET',
    path: '/api/jobs/:jobId/summary',
    summary: 'The summary of a finished run; of the current run by default.',
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
    summary: 'Change name, priority, budget or retention; null removes a retention.',
    access: 'member',
    scope: 'write',
    params: jobParams,
    body: z.strictObject({
      name: name.optional(),
      priority: z.number().int().min(-30_000).max(30_000).optional(),
      budget: budget.optional(),
      keepDays: keepDays.nullable().optional(),
    }),
    answer: { status: 200, schema: job },
    errors: ['BUDGET_INVALID', 'JOB_CONFLICT'],
  },
  deleteJob: {
    method: 'DELETE',
    path: '/api/jobs/:jobId',
    summary: 'Delete a finished job with its rows, results and files.',
    access: 'member',
    scope: 'write',
    params: jobParams,
    answer: { status: 204, schema: null },
    errors: ['JOB_CONFLICT', 'JOB_RETAINED'],
  },
});

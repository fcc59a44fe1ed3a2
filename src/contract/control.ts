// Actions on a job, while it runs and after it has finished.
import { z } from 'zod';
import { defineRoutes } from './route.ts';
import { errorGroups, itemIds, itemStatus, jobParams, jobState, json, row, seq } from './values.ts';

/** Whether this request changed anything, and the state of the job now. */
const controlled = z.object({ changed: z.boolean(), state: jobState }).meta({ id: 'Controlled' });

const control = {
  method: 'POST',
  access: 'member',
  scope: 'write',
  params: jobParams,
} as const;

const edit = z.strictObject({ seq: z.number().int().min(0), input: row });

/** Rows of a finished job with the same error, or with one of several errors. */
const errorGroup = z.strictObject({
  /** Signature of the group, from `listErrors`. */
  errorGroup: z.string().min(1).max(500).optional(),
  phase: z.number().int().min(0).max(1000).optional(),
  /** Several groups instead of one. */
  errorGroups: errorGroups.optional(),
  /** Refused if the job was reprocessed in the meantime. */
  ifGeneration: z.number().int().min(1).optional(),
});

const field = z.string().min(1).max(500);
const groupEdit = errorGroup.extend({
  change: z.union([
    /** Sets the field to this value. */
    z.strictObject({ field, to: json }),
    /** Replaces every occurrence of a text in the field. */
    z.strictObject({ field, find: z.string().min(1).max(1000), replace: z.string().max(10_000) }),
  ]),
});

const reprocess = z.strictObject({
  scope: z.enum(['job', 'items', 'filter', 'errorGroup']),
  /** Scope items: row numbers from 0. */
  itemIds: itemIds.optional(),
  /** Default: ERROR and NOT_FOUND; every status with the scope items. */
  statuses: z.array(itemStatus).min(1).optional(),
  phase: z.number().int().min(0).max(1000).optional(),
  errorGroup: z.string().min(1).max(500).optional(),
  /** Scope errorGroup: several groups instead of one. */
  errorGroups: errorGroups.optional(),
  search: z.string().min(1).max(1000).optional(),
  edits: z.array(edit).max(10_000).optional(),
  includePermanent: z.boolean().optional(),
  /** Includes rows that reached the attempt limit. */
  resetAttempts: z.boolean().optional(),
  /** Name of the phase to start at. */
  from: z.string().max(200).optional(),
  /** Refused if the job was reprocessed in the meantime. */
  ifGeneration: z.number().int().min(1).optional(),
});

/** Selected rows that are not run: permanent failures, and rows that reached the attempt limit. */
const leftOut = z.object({ permanent: z.number(), exhausted: z.number() });

const GROUP_ERRORS = ['REPROCESS_INVALID', 'NOTHING_TO_REPROCESS', 'JOB_CONFLICT'] as const;

export const controlRoutes = defineRoutes({
  pauseJob: {
    ...control,
    path: '/api/jobs/:jobId/pause',
    summary: 'Pause a job: no new rows start; running rows finish and keep their results.',
    answer: { status: 200, schema: controlled },
    errors: ['JOB_CONFLICT'],
  },
  resumeJob: {
    ...control,
    path: '/api/jobs/:jobId/resume',
    summary: 'Resume a paused job, or release the rows held by a test run.',
    answer: { status: 200, schema: controlled.extend({ released: z.number() }) },
    errors: ['JOB_CONFLICT', 'BUDGET_USED_UP'],
  },
  cancelJob: {
    ...control,
    path: '/api/jobs/:jobId/cancel',
    summary:
      'Cancel a job: rows without a result become CANCELLED. Responds immediately; the rest runs in the background.',
    answer: { status: 202, schema: controlled },
    errors: ['JOB_CONFLICT'],
  },
  sealJob: {
    ...control,
    path: '/api/jobs/:jobId/seal',
    summary: 'Seal a job: no more items will be added.',
    answer: { status: 200, schema: z.object({ itemCount: z.number() }) },
    errors: ['JOB_NOT_INGESTING', 'JOB_CONFLICT'],
  },
  appendItems: {
    ...control,
    path: '/api/jobs/:jobId/items',
    summary: 'Append items to a job that is not sealed.',
    body: z.strictObject({
      items: z.array(row).min(1).max(100_000),
      /**
       * Number of items the job had before. Sending the same items again appends nothing; different items are
       * refused.
       */
      from: z.number().int().min(0).optional(),
    }),
    answer: { status: 200, schema: z.object({ itemCount: z.number(), appended: z.number() }) },
    errors: [
      'JOB_NOT_INGESTING',
      'JOB_CONFLICT',
      'JOB_BUSY',
      'ITEMS_DIFFER',
      'ITEM_INVALID',
      'QUOTA_EXCEEDED',
    ],
  },
  sliceJob: {
    ...control,
    path: '/api/jobs/:jobId/slice',
    summary: 'Run rows of a job in this server for a limited time, with or without workers.',
    query: z.strictObject({ durationMs: z.coerce.number().int().min(1).max(600_000).default(5000) }),
    answer: {
      status: 200,
      schema: z.looseObject({
        state: jobState,
        finished: z.boolean(),
        elapsedMs: z.number(),
        /** When the next call is useful; null if not before something else happens. */
        moreReadyInMs: z.number().nullable(),
      }),
    },
    errors: ['SLICE_INVALID', 'PIPELINE_NOT_FOUND', 'JOB_CONFLICT', 'TOO_MANY_SLICES'],
  },
  reprocessJob: {
    ...control,
    path: '/api/jobs/:jobId/reprocess',
    summary: 'Rerun selected rows of a finished job, as its next run.',
    body: reprocess,
    answer: {
      status: 202,
      schema: z.object({
        generation: z.number(),
        selected: z.number(),
        leftOut,
      }),
    },
    errors: ['REPROCESS_INVALID', 'NOTHING_TO_REPROCESS', 'JOB_CONFLICT', 'ITEM_NOT_FOUND', 'ITEM_INVALID'],
  },
  previewReprocess: {
    ...control,
    idempotency: 'refused',
    path: '/api/jobs/:jobId/reprocess/preview',
    summary:
      'Preview how many rows a reprocess would run and how many it would leave out. Nothing is changed.',
    body: reprocess.omit({ edits: true }),
    answer: { status: 200, schema: z.object({ selected: z.number(), leftOut }) },
    errors: ['REPROCESS_INVALID', 'JOB_CONFLICT', 'ITEM_NOT_FOUND'],
  },
  retryPending: {
    ...control,
    path: '/api/jobs/:jobId/pending/retry',
    summary: 'Retry waiting rows now instead of after their delay.',
    body: z.strictObject({
      /** Row numbers from 0. Default: all rows waiting for a retry. */
      itemIds: itemIds.optional(),
    }),
    /** Number of these rows that were waiting. */
    answer: { status: 200, schema: z.object({ readied: z.number() }) },
  },
  skipErrors: {
    ...control,
    path: '/api/jobs/:jobId/errors/skip',
    summary: 'Skip the rows of an error group: a new run records them as SKIPPED without running them.',
    body: errorGroup.extend({ reason: z.string().trim().min(1).max(1000) }),
    answer: { status: 202, schema: z.object({ generation: z.number(), selected: z.number() }) },
    errors: GROUP_ERRORS,
  },
  previewErrorEdit: {
    ...control,
    idempotency: 'refused',
    path: '/api/jobs/:jobId/errors/edit/preview',
    summary: 'Preview a change of a field in the rows of an error group. Nothing is changed.',
    body: groupEdit,
    answer: {
      status: 200,
      schema: z.object({
        /** Rows that were checked, and how many of them the change affects. */
        rows: z.number(),
        changed: z.number(),
        /** The group has more rows than one edit can take. The others stay unchanged for the next edit. */
        more: z.boolean(),
        samples: z.array(z.object({ seq: z.number(), before: json, after: json })),
      }),
    },
    errors: ['REPROCESS_INVALID', 'JOB_CONFLICT'],
  },
  editErrors: {
    ...control,
    path: '/api/jobs/:jobId/errors/edit',
    summary: 'Change a field in the rows of an error group, and rerun the rows that changed.',
    body: groupEdit,
    answer: {
      status: 202,
      schema: z.object({
        generation: z.number(),
        selected: z.number(),
        /** Rows of the group that the change does not affect; they are not run. */
        unchanged: z.number(),
        more: z.boolean(),
      }),
    },
    errors: [...GROUP_ERRORS, 'ITEM_INVALID'],
  },
});

export const itemParams = jobParams.extend({ seq });

// What the owner of a job can do with it while it runs and afterwards.
import { z } from 'zod';
import { defineRoutes } from './route.ts';
import { itemIds, itemStatus, jobParams, jobState, json, row, seq } from './values.ts';

/** Whether this request changed something, and the state of the job now. */
const controlled = z.object({ changed: z.boolean(), state: jobState }).meta({ id: 'Controlled' });

const control = {
  method: 'POST',
  access: 'member',
  scope: 'write',
  params: jobParams,
} as const;

const edit = z.strictObject({ seq: z.number().int().min(0), input: row });

/** Rows of a finished job that failed alike. */
const errorGroup = z.strictObject({
  /** Signature of the group, as `listErrors` answers it. */
  errorGroup: z.string().min(1).max(500),
  phase: z.number().int().min(0).max(1000).optional(),
  /** Refused when somebody reprocessed the job meanwhile. */
  ifGeneration: z.number().int().min(1).optional(),
});

const field = z.string().min(1).max(500);
const groupEdit = errorGroup.extend({
  change: z.union([
    /** The field gets this value. */
    z.strictObject({ field, to: json }),
    /** Every occurrence of a text in the field is replaced. */
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
  search: z.string().min(1).max(1000).optional(),
  edits: z.array(edit).max(10_000).optional(),
  includePermanent: z.boolean().optional(),
  /** Also rows that were tried too often. */
  resetAttempts: z.boolean().optional(),
  /** Name of the phase to begin at. */
  from: z.string().max(200).optional(),
  /** Refused when somebody reprocessed it meanwhile. */
  ifGeneration: z.number().int().min(1).optional(),
});

/** Rows that were chosen and are not run: failures that would repeat, and rows that were tried too often. */
const leftOut = z.object({ permanent: z.number(), exhausted: z.number() });

const GROUP_ERRORS = ['REPROCESS_INVALID', 'NOTHING_TO_REPROCESS', 'JOB_CONFLICT'] as const;

export const controlRoutes = defineRoutes({
  pauseJob: {
    ...control,
    path: '/api/jobs/:jobId/pause',
    summary: 'Start nothing new of it; what runs ends and is kept.',
    answer: { status: 200, schema: controlled },
    errors: ['JOB_CONFLICT'],
  },
  resumeJob: {
    ...control,
    path: '/api/jobs/:jobId/resume',
    summary: 'Go on with a paused job, or release what a trial holds.',
    answer: { status: 200, schema: controlled.extend({ released: z.number() }) },
    errors: ['JOB_CONFLICT', 'BUDGET_USED_UP'],
  },
  cancelJob: {
    ...control,
    path: '/api/jobs/:jobId/cancel',
    summary:
      'End it: what has no result is CANCELLED. Answers when the decision is made; the ending follows.',
    answer: { status: 202, schema: controlled },
    errors: ['JOB_CONFLICT'],
  },
  sealJob: {
    ...control,
    path: '/api/jobs/:jobId/seal',
    summary: 'These are all items.',
    answer: { status: 200, schema: z.object({ itemCount: z.number() }) },
    errors: ['JOB_NOT_INGESTING', 'JOB_CONFLICT'],
  },
  appendItems: {
    ...control,
    path: '/api/jobs/:jobId/items',
    summary: 'Append items to a job that is not sealed.',
    body: z.strictObject({
      items: z.array(row).min(1).max(100_000),
      /** How many items the job had before: the same items again append nothing, others are refused. */
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
  kickoffJob: {
    ...control,
    path: '/api/jobs/:jobId/kickoff',
    summary: 'Work on it here for a while, whether or not workers run.',
    query: z.strictObject({ durationMs: z.coerce.number().int().min(1).max(600_000).default(5000) }),
    answer: {
      status: 200,
      schema: z.looseObject({
        state: jobState,
        finished: z.boolean(),
        elapsedMs: z.number(),
        /** When another call is of use; null: not before something else happens. */
        moreReadyInMs: z.number().nullable(),
      }),
    },
    errors: ['SLICE_INVALID', 'PIPELINE_NOT_FOUND', 'JOB_CONFLICT', 'TOO_MANY_KICKOFFS'],
  },
  reprocessJob: {
    ...control,
    path: '/api/jobs/:jobId/reprocess',
    summary: 'Run chosen rows of a finished job again, as its next generation.',
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
    summary: 'How many rows a reprocess would run, and how many it would leave out. Nothing is changed.',
    body: reprocess.omit({ edits: true }),
    answer: { status: 200, schema: z.object({ selected: z.number(), leftOut }) },
    errors: ['REPROCESS_INVALID', 'JOB_CONFLICT', 'ITEM_NOT_FOUND'],
  },
  retryPending: {
    ...control,
    path: '/api/jobs/:jobId/pending/retry',
    summary: 'Try rows that wait for another try now, instead of when their delay is over.',
    body: z.strictObject({
      /** Row numbers from 0. Default: all that wait for another try. */
      itemIds: itemIds.optional(),
    }),
    /** How many of them did wait. */
    answer: { status: 200, schema: z.object({ readied: z.number() }) },
  },
  skipErrors: {
    ...control,
    path: '/api/jobs/:jobId/errors/skip',
    summary:
      'Give up on the rows of an error group: they end as SKIPPED in a new generation, without being run.',
    body: errorGroup.extend({ reason: z.string().trim().min(1).max(1000) }),
    answer: { status: 202, schema: z.object({ generation: z.number(), selected: z.number() }) },
    errors: GROUP_ERRORS,
  },
  previewErrorEdit: {
    ...control,
    idempotency: 'refused',
    path: '/api/jobs/:jobId/errors/edit/preview',
    summary: 'What a change of a field would do to the rows of an error group. Nothing is changed.',
    body: groupEdit,
    answer: {
      status: 200,
      schema: z.object({
        /** Rows that were looked at, and those of them that the change changes. */
        rows: z.number(),
        changed: z.number(),
        /** There are more than one edit takes: they stay as they are, for another one. */
        more: z.boolean(),
        samples: z.array(z.object({ seq: z.number(), before: json, after: json })),
      }),
    },
    errors: ['REPROCESS_INVALID', 'JOB_CONFLICT'],
  },
  editErrors: {
    ...control,
    path: '/api/jobs/:jobId/errors/edit',
    summary: 'Change a field in the rows of an error group, and run those that changed again.',
    body: groupEdit,
    answer: {
      status: 202,
      schema: z.object({
        generation: z.number(),
        selected: z.number(),
        /** Rows of the group that the change leaves as they are; they are not run. */
        unchanged: z.number(),
        more: z.boolean(),
      }),
    },
    errors: [...GROUP_ERRORS, 'ITEM_INVALID'],
  },
});

export const itemParams = jobParams.extend({ seq });

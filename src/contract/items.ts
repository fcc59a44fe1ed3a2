// Rows of a job: pages of the grid, one row with its history, errors by group, what is not done yet, and rates over time.
import { z } from 'zod';
import { itemParams } from './control.ts';
import { defineRoutes } from './route.ts';
import {
  jobId,
  jobOutcome,
  jobParams,
  jobState,
  json,
  listOf,
  liveStatus,
  name,
  page,
  pageOf,
  pendingStatus,
  rowFilterQuery,
  rowStatus,
  seq,
  shortPage,
  time,
} from './values.ts';

const read = { method: 'GET', access: 'viewer', scope: 'read', params: jobParams } as const;

export const item = z
  .object({
    seq: z.number(),
    /** PROCESSING only where it was asked for; else a row without a result is PENDING. */
    status: liveStatus,
    input: json,
    result: json,
    phase: z.number().nullable(),
    attempts: z.number().nullable(),
    errorClass: z.string().nullable(),
    error: z.string().nullable(),
    generation: z.number().nullable(),
    handlerMs: z.number().nullable(),
    cost: z.number().nullable(),
    finishedAt: time.nullable(),
    /** In lists of what rows are doing, and in the order of time: the last change, and the worker that has the row. */
    updatedAt: time.optional(),
    lockedBy: z.string().nullable().optional(),
  })
  .meta({ id: 'Item' });

export const itemDetail = item
  .extend({
    /** PENDING refined: PROCESSING, RETRYING, HELD. */
    now: z.enum(['PENDING', 'PROCESSING', 'RETRYING', 'HELD', 'ENDED']),
    readyAt: time.nullable(),
    lockedBy: z.string().nullable(),
    summary: z.string().nullable(),
    /** Inputs that somebody gave it, each from a generation on, newest last. */
    edits: z.array(z.object({ generation: z.number(), input: json, editedAt: time })),
    originalInput: json,
    stages: z.array(z.object({ generation: z.number(), phase: z.number(), output: json })),
    failures: z.array(
      z.object({
        generation: z.number(),
        phase: z.number(),
        attempt: z.number(),
        errorClass: z.string(),
        error: z.string(),
        failedAt: time,
      }),
    ),
    /** The result of each generation that had one, newest first. */
    results: z.array(
      z.object({
        generation: z.number(),
        phase: z.number(),
        attempt: z.number(),
        status: rowStatus,
        handlerMs: z.number().nullable(),
        cost: z.number().nullable(),
        errorClass: z.string().nullable(),
        error: z.string().nullable(),
        result: json,
        finishedAt: time,
      }),
    ),
    parent: z.object({ seq: z.number(), depth: z.number() }).nullable(),
    children: z.array(z.object({ seq: z.number(), summary: z.string().nullable(), status: rowStatus })),
    childCount: z.number(),
  })
  .meta({ id: 'ItemDetail' });

export const treeItem = z
  .object({
    seq: z.number(),
    summary: z.string().nullable(),
    status: rowStatus,
    /** How far from the rows of the file. */
    depth: z.number(),
    /** Rows that it emitted; 1,000 stands for more. */
    childCount: z.number(),
  })
  .meta({ id: 'TreeItem' });

export const errorGroup = z
  .object({
    phase: z.number(),
    signature: z.string(),
    errorClass: z.string(),
    sample: z.string(),
    sampleSeq: z.number(),
    occurrences: z.number(),
    failed: z.number(),
    firstSeen: time,
    lastSeen: time,
    /** Occurrences over time, in steps of equal length; empty for what was counted before there were trends. */
    trend: z.object({ from: time, stepMs: z.number(), counts: z.array(z.number()) }),
  })
  .meta({ id: 'ErrorGroup' });

export const pendingItem = z
  .object({
    jobId,
    seq: z.number(),
    summary: z.string().nullable(),
    status: pendingStatus,
    phase: z.number(),
    attempts: z.number(),
    lockedBy: z.string().nullable(),
    readyAt: time.nullable(),
    updatedAt: time,
    jobName: z.string(),
    /** The pipeline. */
    jobType: z.string(),
    ownerId: z.string(),
    /** Part of the job that has ended, from 0 to 1. */
    progress: z.number(),
  })
  .meta({ id: 'PendingItem' });

const pendingQuery = {
  statuses: listOf(pendingStatus).optional(),
  from: time.optional(),
  to: time.optional(),
  ...page,
};

export const itemRoutes = defineRoutes({
  listItems: {
    ...read,
    path: '/api/jobs/:jobId/items',
    summary: 'Rows of a job in the order of its file, each with its newest result.',
    query: z.strictObject({
      ...rowFilterQuery,
      /**
       * PENDING alone is a row without a result, as in exports. With PROCESSING both are what a row is doing now, also one
       * that waits for another run: PENDING waits, PROCESSING is with a worker.
       */
      statuses: listOf(liveStatus).optional(),
      /** Another name of `statuses`. */
      status: listOf(liveStatus).optional(),
      /** Default: the order of the file; by the last change for PENDING,PROCESSING. */
      sort: z.enum(['seq', '-seq', 'updated_at', '-updated_at']).optional(),
      /** Begin at this row instead of at a cursor: for scroll bars. */
      fromSeq: z.coerce.number().int().min(0).optional(),
      ...page,
    }),
    answer: {
      status: 200,
      schema: pageOf(item).extend({
        /**
         * How many rows of the job lie between the beginning of the order and the end of this page: so many were looked at.
         * In the order of time, where nobody counts them: the rows of this page.
         */
        looked: z.number(),
      }),
    },
    errors: ['CURSOR_INVALID'],
  },
  getItem: {
    ...read,
    path: '/api/jobs/:jobId/items/:seq',
    summary: 'One row: input, output of each phase, every attempt, lineage.',
    params: itemParams,
    answer: { status: 200, schema: itemDetail },
    errors: ['ITEM_NOT_FOUND'],
  },
  getItemImage: {
    ...read,
    path: '/api/jobs/:jobId/items/:seq/image',
    summary: 'The image of a row of an image job, to be shown.',
    params: itemParams,
    answer: { status: 200, schema: null, type: 'bytes', hasRanges: true },
    errors: ['ITEM_NOT_FOUND', 'FILE_NOT_FOUND', 'BLOB_STORE_UNAVAILABLE'],
  },
  listTree: {
    ...read,
    path: '/api/jobs/:jobId/tree',
    summary: 'Rows by what they came from: those of the file, or with parent those that it emitted.',
    query: z.strictObject({ parent: seq.optional(), ...page }),
    answer: { status: 200, schema: pageOf(treeItem) },
    errors: ['CURSOR_INVALID'],
  },
  listErrors: {
    ...read,
    path: '/api/jobs/:jobId/errors',
    summary: 'Failures by group, the largest first.',
    query: z.strictObject({
      ...page,
      /** A piece of their message. */
      search: z.string().min(1).max(1000).optional(),
    }),
    answer: {
      status: 200,
      schema: pageOf(errorGroup).extend({
        /** How many groups there are, on this page or not. */
        total: z.number(),
      }),
    },
    errors: ['CURSOR_INVALID'],
  },
  getTimeline: {
    ...read,
    path: '/api/jobs/:jobId/timeline',
    summary: 'What a job did over time, from the ledger: per minute, in seconds while it is young.',
    query: z.strictObject({
      from: time.optional(),
      to: time.optional(),
      /** Steps are as long as needed so that there are at most so many points. */
      points: z.coerce.number().int().min(1).max(2000).default(240),
    }),
    answer: {
      status: 200,
      schema: z.object({
        stepMs: z.number(),
        /** Time that the points are of: the first and the last step may reach beyond it. The last one of a job that runs is over. */
        from: time,
        to: time,
        points: z.array(
          z.object({
            at: time,
            done: z.number(),
            error: z.number(),
            notFound: z.number(),
            skipped: z.number(),
            cancelled: z.number(),
            advanced: z.number(),
            retried: z.number(),
            /** Average time of a call; null: there was none. */
            handlerMs: z.number().nullable(),
            cost: z.number(),
          }),
        ),
      }),
    },
  },
  listGenerations: {
    ...read,
    path: '/api/jobs/:jobId/generations',
    summary: 'Runs of a job: what was chosen, how it ended, what changed.',
    query: z.strictObject(shortPage),
    pagedBy: ['generation'],
    answer: {
      status: 200,
      schema: pageOf(
        z.object({
          generation: z.number(),
          selection: json,
          selected: z.number(),
          leftOut: z.record(z.string(), z.number()),
          openedAt: time,
          finishedAt: time.nullable(),
          /** Null: it has not ended, or the next one continued it. */
          state: jobState.nullable(),
          outcome: jobOutcome.nullable(),
          counts: z.record(z.string(), z.number()).nullable(),
          diff: z.looseObject({}).nullable(),
        }),
      ),
    },
    errors: ['CURSOR_INVALID'],
  },
  listRejected: {
    ...read,
    path: '/api/jobs/:jobId/rejected',
    summary: 'Rows of the file that could not become items.',
    query: z.strictObject({ ...page }),
    answer: {
      status: 200,
      schema: pageOf(z.object({ line: z.number(), reason: z.string(), raw: z.string() })),
    },
    errors: ['CURSOR_INVALID'],
  },
  listPendingOfJob: {
    ...read,
    path: '/api/jobs/:jobId/pending',
    summary: 'Rows of a job that have not ended.',
    query: z.strictObject(pendingQuery),
    answer: { status: 200, schema: pageOf(pendingItem) },
    errors: ['CURSOR_INVALID'],
  },
  listPending: {
    method: 'GET',
    access: 'viewer',
    scope: 'read',
    path: '/api/pending',
    summary: 'Rows that have not ended, over all jobs of the caller. Behind the setting pendingDashboard.',
    query: z.strictObject({
      ...pendingQuery,
      userId: z.enum(['me', 'all']).default('me'),
      jobType: name.optional(),
      jobId: jobId.optional(),
    }),
    answer: { status: 200, schema: pageOf(pendingItem) },
    errors: ['CURSOR_INVALID', 'FEATURE_DISABLED', 'FORBIDDEN'],
  },
  listJobActivity: {
    ...read,
    path: '/api/jobs/:jobId/activity',
    summary: 'Who did what to it, and its lifecycle, newest first.',
    query: z.strictObject({ ...page }),
    answer: {
      status: 200,
      schema: pageOf(
        z.object({
          at: time,
          kind: z.enum(['audit', 'event']),
          actor: z.string().nullable(),
          action: z.string(),
          detail: json,
        }),
      ),
    },
    errors: ['CURSOR_INVALID'],
  },
});

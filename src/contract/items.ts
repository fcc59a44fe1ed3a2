// Rows of a job: pages of the grid, one row with its history, emitted rows, and unfinished rows.
import { z } from 'zod';
import { parseItemSort } from '../core/paging/item-sort.ts';
import { itemParams } from './control.ts';
import { defineRoutes } from './route.ts';
import {
  jobId,
  jobParams,
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
  time,
} from './values.ts';

const read = { method: 'GET', access: 'viewer', scope: 'read', params: jobParams } as const;

export const item = z
  .object({
    seq: z.number(),
    /** The row's number as people count, from 1. `seq` counts from 0. */
    row: z.number(),
    /** PROCESSING only if requested; otherwise a row without a result is PENDING. */
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
    /** Time of the last change, and the worker that holds the row. Only in lists by live status or by time. */
    updatedAt: time.optional(),
    lockedBy: z.string().nullable().optional(),
  })
  .meta({ id: 'Item' });

export const itemDetail = item
  .extend({
    /** PENDING in more detail: PROCESSING, RETRYING, HELD. */
    now: z.enum(['PENDING', 'PROCESSING', 'RETRYING', 'HELD', 'ENDED']),
    readyAt: time.nullable(),
    lockedBy: z.string().nullable(),
    summary: z.string().nullable(),
    /** Line of the text file, or row of the sheet, in which it begins. Null: not known, or the format has no lines. */
    line: z.number().nullable(),
    /** Edited inputs, each with the generation from which it applies, newest last. */
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
    /** The result of each generation that has one, newest first. */
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
    /** Index of its first phase. Emitted rows of other kinds start later than the first phase of the pipeline. */
    startPhase: z.number(),
    costUnit: z.string().nullable(),
    parent: z.object({ seq: z.number(), depth: z.number() }).nullable(),
    children: z.array(z.object({ seq: z.number(), summary: z.string().nullable(), status: rowStatus })),
    childCount: z.number(),
  })
  .meta({ id: 'ItemDetail' });

export const treeItem = z
  .object({
    seq: z.number(),
    row: z.number(),
    summary: z.string().nullable(),
    status: rowStatus,
    /** Number of ancestors up to a row of the file. */
    depth: z.number(),
    /** Number of rows it emitted; 1,000 means 1,000 or more. */
    childCount: z.number(),
  })
  .meta({ id: 'TreeItem' });

export const pendingItem = z
  .object({
    jobId,
    seq: z.number(),
    row: z.number(),
    summary: z.string().nullable(),
    status: pendingStatus,
    phase: z.number(),
    attempts: z.number(),
    lockedBy: z.string().nullable(),
    readyAt: time.nullable(),
    updatedAt: time,
    jobName: z.string(),
    /** Name of the pipeline. */
    jobType: z.string(),
    ownerId: z.string(),
    /** Completed share of the job, from 0 to 1. */
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
       * PENDING alone selects rows without a result, as in exports. With PROCESSING, both describe what a row is
       * doing now, including rows that run again: PENDING waits, PROCESSING is leased by a worker.
       */
      statuses: listOf(liveStatus).optional(),
      /** Alias of `statuses`. */
      status: listOf(liveStatus).optional(),
      /**
       * `seq`, `updated_at`, `status`, `attempts`, `handlerMs`, `cost`, `error`, `finishedAt`, or a column: `input:sku`,
       * `result:price`; with a minus the largest first. Empty cells are last. Default: the order of the file; by last
       * change for PENDING,PROCESSING. Fields and columns sort at most 50,000 rows.
       */
      sort: z
        .string()
        .refine((text) => /^-?(?:seq|updated_at)$/.test(text) || parseItemSort(text) !== null, {
          error:
            'expected seq, updated_at, status, attempts, handlerMs, cost, error, finishedAt, input:… or result:…',
        })
        .optional(),
      /** Starts at this row instead of at a cursor, for scroll bars. */
      fromSeq: z.coerce.number().int().min(0).optional(),
      ...page,
    }),
    answer: {
      status: 200,
      schema: pageOf(item).extend({
        /**
         * Number of rows scanned from the start of the order to the end of this page. When sorted by time, rows are
         * not counted: the number of rows on this page.
         */
        looked: z.number(),
        /** The row whose key is the searched text, found by an index. Only on the first page of a search. */
        keyMatch: seq.nullable().optional(),
      }),
    },
    errors: ['CURSOR_INVALID', 'SORT_TOO_LARGE'],
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
    summary: 'The image of a row of an image job.',
    params: itemParams,
    answer: { status: 200, schema: null, type: 'bytes', hasRanges: true },
    errors: ['ITEM_NOT_FOUND', 'FILE_NOT_FOUND', 'BLOB_STORE_UNAVAILABLE'],
  },
  listTree: {
    ...read,
    path: '/api/jobs/:jobId/tree',
    summary: 'Rows by parent: rows of the file, or with parent the rows that it emitted.',
    query: z.strictObject({ parent: seq.optional(), ...page }),
    answer: { status: 200, schema: pageOf(treeItem) },
    errors: ['CURSOR_INVALID'],
  },
  listPendingOfJob: {
    ...read,
    path: '/api/jobs/:jobId/pending',
    summary: 'Rows of a job that have no result yet.',
    query: z.strictObject(pendingQuery),
    answer: { status: 200, schema: pageOf(pendingItem) },
    errors: ['CURSOR_INVALID'],
  },
  listPending: {
    method: 'GET',
    access: 'viewer',
    scope: 'read',
    path: '/api/pending',
    summary: 'Rows without a result, over all jobs of the caller. Needs the setting pendingDashboard.',
    query: z.strictObject({
      ...pendingQuery,
      userId: z.enum(['me', 'all']).default('me'),
      jobType: name.optional(),
      jobId: jobId.optional(),
    }),
    answer: { status: 200, schema: pageOf(pendingItem) },
    errors: ['CURSOR_INVALID', 'FEATURE_DISABLED', 'FORBIDDEN'],
  },
});

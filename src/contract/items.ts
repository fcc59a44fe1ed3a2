// Rows of a job: pages of the grid, one row with its history, error groups, unfinished rows, and rates over time.
import { z } from 'zod';
import { ROW_CHANGES } from '../core/jobs/run-comparison.ts';
import { itemParams } from './control.ts';
import { lineLevel, jobLogLine, tracedFetch, tracedLine } from './logs.ts';
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

export const itemTrace = z
  .object({
    seq: z.number(),
    row: z.number(),
    /** Unit of the costs; null if unknown. */
    costUnit: z.string().nullable(),
    /** The newest 200 attempts, in their order. */
    attempts: z.array(
      z.object({
        generation: z.number(),
        phase: z.number(),
        phaseName: z.string().nullable(),
        attempt: z.number(),
        /** `advanced`: continued in the next phase. `retry`: failed, and another attempt followed. */
        outcome: z.enum(['advanced', 'retry', 'done', 'error', 'not_found', 'skipped', 'cancelled']),
        /** Null, as are start and strategy, for a first attempt that succeeded and logged nothing. */
        workerId: z.string().nullable(),
        startedAt: time.nullable(),
        endedAt: time.nullable(),
        durationMs: z.number().nullable(),
        /**
         * Wait before the attempt, and its reason: the limit or the slot that it waited for after its claim, or else the
         * delay since the attempt before. Null without a trace.
         */
        waitedMs: z.number().nullable(),
        waitedFor: z.enum(['retry', 'rate_limit', 'budget', 'slot']).nullable(),
        /** Planned delay before the next attempt. */
        retryAfterMs: z.number().nullable(),
        cost: z.number().nullable(),
        strategy: z.string().nullable(),
        errorClass: z.string().nullable(),
        error: z.string().nullable(),
        /** The error that the handler threw; null if it threw none. */
        thrown: z
          .object({
            name: z.string().nullable(),
            stack: z.array(z.string()),
            causes: z.array(
              z.object({ name: z.string().nullable(), message: z.string(), code: z.string().nullable() }),
            ),
          })
          .nullable(),
        log: z.array(tracedLine),
        /** Log lines over the limits of an attempt. */
        droppedLines: z.number(),
        /** Requests that the handler sent by `context.fetch`. */
        fetches: z.array(tracedFetch),
        /** Requests over the limit of an attempt. */
        droppedFetches: z.number(),
      }),
    ),
  })
  .meta({ id: 'ItemTrace' });

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

export const errorGroup = z
  .object({
    phase: z.number(),
    signature: z.string(),
    /** The signature without its class: a message whose names and numbers are placeholders. */
    pattern: z.string().default(''),
    errorClass: z.string(),
    sample: z.string(),
    sampleSeq: z.number(),
    occurrences: z.number(),
    failed: z.number(),
    firstSeen: time,
    lastSeen: time,
    /** The person who can fix it, and what to do first. */
    fixer: z.enum(['row owner', 'developer', 'operator']).default('developer'),
    suggestion: z.string().default(''),
    /** Occurrences over time, in steps of equal length; empty for errors counted before trends were introduced. */
    trend: z.object({ from: time, stepMs: z.number(), counts: z.array(z.number()) }),
  })
  .meta({ id: 'ErrorGroup' });

const comparedResult = z.object({
  /** The run of this result, the same or an earlier one. */
  generation: z.number(),
  status: itemStatus,
  error: z.string().nullable(),
  cost: z.number().nullable(),
  /** Duration of the last call. */
  handlerMs: z.number().nullable(),
});

export const comparedRow = z
  .object({
    seq: z.number(),
    /** `changed`: the same success or failure with another status, result or error. */
    change: z.enum(ROW_CHANGES),
    /** Null: the row was added after the first of the two runs. */
    before: comparedResult.nullable(),
    after: comparedResult,
    /** Cells of the result that differ; an empty column is the whole result. */
    cells: z.array(
      z.object({
        column: z.string(),
        change: z.enum(['changed', 'added', 'removed']),
        before: json,
        after: json,
      }),
    ),
  })
  .meta({ id: 'ComparedRow' });

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
      /** Default: the order of the file; by last change for PENDING,PROCESSING. */
      sort: z.enum(['seq', '-seq', 'updated_at', '-updated_at']).optional(),
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
  getItemTrace: {
    ...read,
    path: '/api/jobs/:jobId/items/:seq/trace',
    summary: 'Every attempt of one row: worker, times, cost, error with stack, log lines.',
    params: itemParams,
    answer: { status: 200, schema: itemTrace },
    errors: ['ITEM_NOT_FOUND'],
  },
  listLogs: {
    ...read,
    path: '/api/jobs/:jobId/logs',
    summary: 'Log lines of the handlers of a job, in the order in which they were stored.',
    query: z.strictObject({
      /** Lowest level. */
      level: lineLevel.default('info'),
      /** For polling: `next` is never null, and with it a later request returns the lines stored meanwhile. */
      follow: flag.optional(),
      ...page,
    }),
    answer: { status: 200, schema: pageOf(jobLogLine) },
    errors: ['CURSOR_INVALID'],
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
  listErrors: {
    ...read,
    path: '/api/jobs/:jobId/errors',
    summary: 'Error groups, largest first.',
    query: z.strictObject({
      ...page,
      /** Matches part of the error message. */
      search: z.string().min(1).max(1000).optional(),
    }),
    answer: {
      status: 200,
      schema: pageOf(errorGroup).extend({
        /** Number of groups on all pages. */
        total: z.number(),
        /** Failed rows of these groups, and of all groups of the job. */
        matchingRows: z.number().default(0),
        allRows: z.number().default(0),
      }),
    },
    errors: ['CURSOR_INVALID'],
  },
  getTimeline: {
    ...read,
    path: '/api/jobs/:jobId/timeline',
    summary: 'Progress of a job over time: per minute, or per second while it is young.',
    query: z.strictObject({
      from: time.optional(),
      to: time.optional(),
      /** Maximum number of points; the step grows to fit. */
      points: z.coerce.number().int().min(1).max(2000).default(240),
    }),
    answer: {
      status: 200,
      schema: z.object({
        stepMs: z.number(),
        /**
         * Time range of the points; the first and last step may extend beyond it. For a running job, the last step is
         * complete.
         */
        from: time,
        to: time,
        costUnit: z.string().nullable(),
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
            /** Average duration of a call; null if there were no calls. */
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
    summary: 'Runs of a job: selected rows, outcome and changes.',
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
          /** Null if the run has not finished or the next one continued it. */
          state: jobState.nullable(),
          outcome: jobOutcome.nullable(),
          counts: z.record(z.string(), z.number()).nullable(),
          diff: z.looseObject({}).nullable(),
        }),
      ),
    },
    errors: ['CURSOR_INVALID'],
  },
  compareRuns: {
    ...read,
    path: '/api/jobs/:jobId/compare',
    summary: 'Results of two runs side by side: rows with a newer result, and the cells that differ.',
    query: z.strictObject({
      /** Default: the newest run. */
      to: generation.optional(),
      /** Default: the run before `to`. */
      from: generation.optional(),
      /** Default: every change, but not `same`. */
      change: listOf(z.enum(ROW_CHANGES)).optional(),
      ...page,
    }),
    answer: {
      status: 200,
      schema: pageOf(comparedRow).extend({
        from: z.number(),
        to: z.number(),
        costUnit: z.string().nullable(),
        /** Totals of all rows with a newer result, whatever `change` is. Null on later pages. */
        totals: z
          .object({
            rows: z.record(z.enum(ROW_CHANGES), z.number()),
            costBefore: z.number(),
            costAfter: z.number(),
            /** Average duration of the last call of a row. */
            handlerMsBefore: z.number().nullable(),
            handlerMsAfter: z.number().nullable(),
            /** Totals of a large job cover the rows before this one. */
            upToSeq: z.number(),
            isComplete: z.boolean(),
          })
          .nullable(),
      }),
    },
    errors: ['CURSOR_INVALID'],
  },
  listRejected: {
    ...read,
    path: '/api/jobs/:jobId/rejected',
    summary: 'Rows of the file that were rejected.',
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
  listJobActivity: {
    ...read,
    path: '/api/jobs/:jobId/activity',
    summary: 'Audit log and lifecycle of a job, newest first.',
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

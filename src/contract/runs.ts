// A job over time: rates, runs and their comparison, activity.
import { z } from 'zod';
import { ROW_CHANGES } from '../core/jobs/run-comparison.ts';
import { defineRoutes } from './route.ts';
import {
  generation,
  itemStatus,
  jobOutcome,
  jobParams,
  jobState,
  json,
  listOf,
  page,
  pageOf,
  shortPage,
  time,
} from './values.ts';

const read = { method: 'GET', access: 'viewer', scope: 'read', params: jobParams } as const;

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
    /**
     * `fixed`: succeeds, and did not before. `newlyFailed`: ERROR now; `newlyNotFound`: NOT_FOUND now. `changed`: another
     * status, result or error, and none of these.
     */
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

export const runRoutes = defineRoutes({
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

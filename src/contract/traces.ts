// Traces of the handlers of a job: every attempt of one row, and the log lines of all rows.
import { z } from 'zod';
import { itemParams } from './control.ts';
import { jobLogLine, lineLevel, tracedFetch, tracedLine } from './logs.ts';
import { defineRoutes } from './route.ts';
import { flag, jobParams, page, pageOf, time } from './values.ts';

const read = { method: 'GET', access: 'viewer', scope: 'read', params: jobParams } as const;

export const itemTrace = z
  .object({
    seq: z.number(),
    row: z.number(),
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

export const traceRoutes = defineRoutes({
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
});

// Live progress as server-sent events. Lifecycle events have ids and are never missed: a client that reconnects with
// Last-Event-ID gets the events it missed. Progress events have no id, because each carries the whole state.
import { z } from 'zod';
import { EVENT_KINDS } from './event-kinds.ts';
import { defineRoutes } from './route.ts';
import { eta, unfinishedRows } from './progress.ts';
import { flag, jobId, jobParams, jobState, json, time } from './values.ts';

export const eventKind = z.enum(EVENT_KINDS);

export const jobEvent = z
  .object({
    /** Increasing; also the id of the server-sent event. */
    position: z.number(),
    kind: eventKind,
    jobId,
    ownerId: z.string(),
    at: time,
    generation: z.number(),
    state: jobState,
    detail: json,
  })
  .meta({ id: 'JobEvent' });
export type JobEvent = z.infer<typeof jobEvent>;

/**
 * Event `open`, the first of every stream. Its id is the start of the stream, so a client that is disconnected before
 * any other event can resume from it.
 */
export const openEvent = z
  .object({
    position: z.number(),
    /** Events after the given id have been deleted: reload the state of the jobs. */
    missed: z.boolean(),
    /** Interval of heartbeats. A client that receives nothing for considerably longer has lost the server. */
    heartbeatMs: z.number(),
  })
  .meta({ id: 'OpenEvent' });

/** Event `progress`: sent on changes, at most a few times per second. */
export const progressEvent = z
  .object({
    jobId,
    state: jobState,
    generation: z.number(),
    itemCount: z.number(),
    counts: z.record(z.string(), z.number()),
    unfinished: unfinishedRows,
    /** Items completed per second over the last `rateWindowMs`: one minute, or less while the run is younger. */
    perSecond: z.number(),
    rateWindowMs: z.number(),
    eta,
    etaUnknownBecause: z.string().nullable(),
    cost: z.number(),
    costUnit: z.string().nullable().default(null),
    workers: z.number(),
  })
  .meta({ id: 'ProgressEvent' });
export type ProgressEvent = z.infer<typeof progressEvent>;

/** Event `counter`: the total of a counter for the owners of the stream. Sent at the start and after changes. */
export const counterEvent = z
  .object({ counter: z.string(), total: z.record(z.string(), z.number()), updatedAt: time })
  .meta({ id: 'CounterEvent' });
export type CounterEvent = z.infer<typeof counterEvent>;

const stream = {
  method: 'GET',
  access: 'viewer',
  scope: 'read',
  answer: { status: 200, schema: null, type: 'events' },
  errors: ['TOO_MANY_STREAMS'],
} as const;

/**
 * Also a query parameter, because a browser's EventSource cannot set the Last-Event-ID header on its first request.
 */
const lastEventId = z.coerce.number().int().min(0).optional();

export const eventRoutes = defineRoutes({
  streamEvents: {
    ...stream,
    path: '/api/events',
    summary:
      "Lifecycle and progress of the caller's jobs, and totals of their counters, as server-sent events.",
    query: z.strictObject({ lastEventId, all: flag.optional() }),
    errors: ['TOO_MANY_STREAMS', 'FORBIDDEN'],
  },
  streamJobEvents: {
    ...stream,
    path: '/api/jobs/:jobId/events',
    summary: 'Lifecycle and progress of a job, as server-sent events.',
    params: jobParams,
    query: z.strictObject({ lastEventId }),
  },
});

// Live progress as server-sent events. Lifecycle events have ids and are never missed: who comes back with Last-Event-ID
// gets those in between. Progress events have none: the next one says it all.
import { z } from 'zod';
import { EVENT_KINDS } from './event-kinds.ts';
import { defineRoutes } from './route.ts';
import { flag, jobId, jobParams, jobState, json, time } from './values.ts';

export const eventKind = z.enum(EVENT_KINDS);

export const jobEvent = z
  .object({
    /** Rises; also the id of the server-sent event. */
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

/** Event `open`: the first of every stream. Its id is where the stream begins: who is cut off before anything else comes back with it. */
export const openEvent = z
  .object({
    position: z.number(),
    /** Events after the id that was given are gone: read the state of the jobs anew. */
    missed: z.boolean(),
    /** A sign of life comes this often. A client that gets none for a good deal longer has lost the server. */
    heartbeatMs: z.number(),
  })
  .meta({ id: 'OpenEvent' });

/** Event `progress`: sent when something changed, a few times per second at the most. */
export const progressEvent = z
  .object({
    jobId,
    state: jobState,
    generation: z.number(),
    itemCount: z.number(),
    counts: z.record(z.string(), z.number()),
    /** Items ended per second over the last `rateWindowMs`: a minute, or less while the run is younger. */
    perSecond: z.number(),
    rateWindowMs: z.number(),
    cost: z.number(),
    workers: z.number(),
  })
  .meta({ id: 'ProgressEvent' });
export type ProgressEvent = z.infer<typeof progressEvent>;

/** Event `counter`: what a counter adds up to for the owners of the stream. Sent at the beginning, and when it changed. */
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

/** In a query too, because a browser's EventSource cannot set the header Last-Event-ID for its first request. */
const lastEventId = z.coerce.number().int().min(0).optional();

export const eventRoutes = defineRoutes({
  streamEvents: {
    ...stream,
    path: '/api/events',
    summary:
      "Lifecycle and progress of the caller's jobs and totals of their counters, as server-sent events.",
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

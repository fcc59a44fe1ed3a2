// Log lines of handlers, as lists and traces show them.
import { z } from 'zod';
import { json, time } from './values.ts';

export const lineLevel = z.enum(['info', 'warn', 'error']);

/** A line in the trace of its attempt. */
export const tracedLine = z.object({
  /** Since the start of the attempt. */
  atMs: z.number(),
  level: lineLevel,
  message: z.string(),
  fields: json,
});

/** A request in the trace of its attempt. */
export const tracedFetch = z.object({
  /** Since the start of the attempt. */
  atMs: z.number(),
  method: z.string(),
  /** Host and path. */
  url: z.string(),
  /** Null if there was no answer. */
  status: z.number().nullable(),
  /** Until the headers of the answer. */
  durationMs: z.number(),
});

/** A line in the log of a job. */
export const jobLogLine = z
  .object({
    seq: z.number(),
    generation: z.number(),
    phase: z.number(),
    phaseName: z.string().nullable(),
    attempt: z.number(),
    at: time,
    level: lineLevel,
    message: z.string(),
    fields: json,
  })
  .meta({ id: 'LogLine' });

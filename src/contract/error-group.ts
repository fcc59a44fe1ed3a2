// Errors with the same normalised message, as lists show them.
import { z } from 'zod';
import { time } from './values.ts';

export const unsuccessfulCounts = z.object({ ERROR: z.number(), NOT_FOUND: z.number() });

export const errorGroup = z
  .object({
    phase: z.number(),
    signature: z.string(),
    /** The signature without its class: a message whose names and numbers are placeholders. */
    pattern: z.string().default(''),
    errorClass: z.string(),
    sample: z.string(),
    sampleSeq: z.number(),
    /** Failed attempts, retried or not. */
    occurrences: z.number(),
    /** Rows that ended with it, and their status: NOT_FOUND rows are not counted as failed. */
    rows: z.number(),
    status: z.enum(['ERROR', 'NOT_FOUND']),
    firstSeen: time,
    lastSeen: time,
    /** The person who can fix it, and what to do first. */
    fixer: z.enum(['row owner', 'developer', 'operator']).default('developer'),
    suggestion: z.string().default(''),
    /** Occurrences over time, in steps of equal length; empty for errors counted before trends were introduced. */
    trend: z.object({ from: time, stepMs: z.number(), counts: z.array(z.number()) }),
  })
  .meta({ id: 'ErrorGroup' });

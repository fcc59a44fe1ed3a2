// Failures of a job: error groups, and rows of its file that were rejected.
import { z } from 'zod';
import { defineRoutes } from './route.ts';
import { jobParams, page, pageOf, time } from './values.ts';

const read = { method: 'GET', access: 'viewer', scope: 'read', params: jobParams } as const;

const unsuccessfulCounts = z.object({ ERROR: z.number(), NOT_FOUND: z.number() });

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

export const errorRoutes = defineRoutes({
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
        /** Rows of these groups by status, and of all groups of the job. */
        matching: unsuccessfulCounts,
        all: unsuccessfulCounts,
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
});

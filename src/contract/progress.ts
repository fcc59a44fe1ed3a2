// Parts of a job's progress that its description and its events share.
import { z } from 'zod';
import { time } from './values.ts';

/**
 * Rows without a result, by what they wait for. The parts add up to `counts.PENDING` + `counts.PROCESSING`. Rows that
 * workers hold are divided by the reports of the workers, the oldest of which is from `reportedAt`.
 */
export const unfinishedRows = z
  .object({
    /** In a handler call. */
    running: z.number(),
    /** Claimed by a worker, not started or not stored yet. */
    queued: z.number(),
    rateLimit: z.number(),
    retry: z.number(),
    budget: z.number(),
    /** Ready, for any worker to take. */
    worker: z.number(),
    /** Held until a trial is approved or the job is resumed. */
    onHold: z.number(),
    reportedAt: time.nullable(),
  })
  .meta({ id: 'UnfinishedRows' });

/**
 * Estimated completion: `at` is most likely, between `low` and `high`. `high` is null while rows are still being added.
 * The estimate is null if it is unknown; `etaUnknownBecause` says why.
 */
export const eta = z.object({ at: time, low: time, high: time.nullable(), basis: z.string() }).nullable();

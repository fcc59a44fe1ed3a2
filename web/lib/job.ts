// Types of a job and its parts, and facts derived from them.
import type { z } from 'zod';
import type { jobFile } from '../../src/contract/files.ts';
import type { errorGroup } from '../../src/contract/error-groups.ts';
import type { item, itemDetail, pendingItem } from '../../src/contract/items.ts';
import type { job } from '../../src/contract/jobs.ts';

export type Job = z.infer<typeof job>;
export type Item = z.infer<typeof item>;
export type ItemDetail = z.infer<typeof itemDetail>;
export type ErrorGroup = z.infer<typeof errorGroup>;
export type PendingItem = z.infer<typeof pendingItem>;
export type JobFile = z.infer<typeof jobFile>;

/** Statuses of rows that can be rerun. */
export const FINISHED_STATUSES = ['DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'] as const;

/** States of jobs that have work and are not paused, for the list of jobs. */
export const ACTIVE_STATES = 'INGESTING,QUEUED,RUNNING,FINALIZING,CANCELLING';

/** Finished rows can be rerun when the job is finished or paused. */
export function canRerun(state: string): boolean {
  return state === 'DONE' || state === 'CANCELLED' || state === 'FAILED' || state === 'PAUSED';
}

/** Average cost of a finished row so far. Null: no cost was reported, or no row is finished. */
export function costPerRow({ cost, counts }: Pick<Job, 'cost' | 'counts'>): number | null {
  const finished = counts.DONE + counts.ERROR + counts.NOT_FOUND;
  return cost > 0 && finished > 0 ? cost / finished : null;
}

/** Format of the input file. Null: the rows did not come from a file. */
export function formatOf(source: Job['source']): string | null {
  const format = source?.detected.format;
  return typeof format === 'string' ? format : null;
}

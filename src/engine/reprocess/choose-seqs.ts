// The items of a finished job that a filter selects, found as an export would find them.
import { type ExportFilter, selectsErrors } from '../../core/files/export-filter.ts';
import type { ExportRow } from '../../core/files/export-row.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { eachSeq, type SeqRanges } from '../../core/items/seq-ranges.ts';
import { readRows } from '../../export/read-rows.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import type { EngineContext } from '../engine-context.ts';

/** Items that must be checked one by one; null if the statuses alone decide. */
export async function chooseSeqs(
  context: EngineContext,
  job: Job,
  filter: ExportFilter,
): Promise<number[] | null> {
  const { phase, search, seqs } = filter;
  if (seqs !== undefined) checkRange(job, seqs);
  if (phase === undefined && !selectsErrors(filter) && search === undefined)
    return seqs === undefined ? null : [...eachSeq(seqs)];
  const chosen: number[] = [];
  for await (const page of chosenRows(context, job, filter)) for (const { seq } of page) chosen.push(seq);
  return chosen;
}

/** The selected items with their input and newest result. */
export function chosenRows(
  { db, settings }: EngineContext,
  { jobId, generation, itemCount }: Job,
  filter: ExportFilter,
): AsyncGenerator<ExportRow[]> {
  const pageRows = settings.exportPageRows;
  return readRows(db, { jobId, generation, filter, pageRows, afterSeq: -1, itemCount });
}

function checkRange({ jobId, itemCount }: Job, seqs: SeqRanges): void {
  const end = seqs.at(-1)?.[1] ?? 0;
  if (end > itemCount)
    throw new RowmillError('ITEM_NOT_FOUND', `job ${jobId} has ${itemCount} items, there is no ${end - 1}`);
}

// Previews how many rows a reprocess would run and how many it would leave out. Nothing is changed.
import type { Executor } from '../../platform/database.ts';
import type { ReopenRequest } from '../../store/commands/spans/reopen-items.ts';
import { countReopenable } from '../../store/views/results/count-reopenable.ts';
import type { EngineContext } from '../engine-context.ts';
import { planReprocess, type ReprocessRequest, WINDOW_SEQS } from './reprocess-job.ts';

export interface ReprocessPreview {
  selected: number;
  leftOut: { permanent: number; exhausted: number };
}

/** Counts on `reads`, so that scans of large jobs do not delay other queries. */
export async function previewReprocess(
  context: EngineContext,
  reads: Executor,
  jobId: string,
  request: Omit<ReprocessRequest, 'edits'>,
): Promise<ReprocessPreview> {
  const { job, base, chosen } = await planReprocess(context, jobId, request);
  const { itemCount } = job;
  const whole: Pick<ReopenRequest, 'fromSeq' | 'toSeq' | 'seqs'> = {
    fromSeq: 0,
    toSeq: itemCount,
    seqs: null,
  };
  const parts: Partial<ReopenRequest>[] = [];
  const length = chosen === null ? itemCount : chosen.length;
  for (let from = 0; from < length; from += WINDOW_SEQS) {
    const to = Math.min(length, from + WINDOW_SEQS);
    parts.push(chosen === null ? { fromSeq: from, toSeq: to } : { seqs: chosen.slice(from, to) });
  }
  const total: ReprocessPreview = { selected: 0, leftOut: { permanent: 0, exhausted: 0 } };
  for (const part of parts) {
    const counted = await countReopenable(reads, { ...base, ...whole, ...part });
    total.selected += counted.selected;
    total.leftOut.permanent += counted.permanent;
    total.leftOut.exhausted += counted.exhausted;
  }
  return total;
}

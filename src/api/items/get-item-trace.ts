// GET /api/jobs/:jobId/items/:seq/trace: every attempt of a row, with its log lines.
import type { traceRoutes } from '../../contract/traces.ts';
import { rowNumber } from '../../contract/row-number.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { readItem } from '../../store/views/items/read-item.ts';
import { readItemTrace } from '../../store/views/items/read-item-trace.ts';
import type { Handler } from '../requests/handler.ts';
import { showTrace } from './show-trace.ts';

export const getItemTrace: Handler<typeof traceRoutes.getItemTrace> = async (
  { job, params: { seq } },
  { reads },
) => {
  const [item, attempts] = await Promise.all([
    readItem(reads, job.jobId, job.generation, seq),
    readItemTrace(reads, job.jobId, seq),
  ]);
  if (!item) throw new RowmillError('ITEM_NOT_FOUND', `the job has no row ${rowNumber(seq)}`);
  return showTrace(seq, attempts, job);
};

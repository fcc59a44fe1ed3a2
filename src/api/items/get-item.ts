// GET /api/jobs/:jobId/items/:seq: one row with its full history.
import type { itemRoutes } from '../../contract/items.ts';
import { rowNumber } from '../../contract/row-number.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import { readChildren, readItem } from '../../store/views/items/read-item.ts';
import { readItemHistory } from '../../store/views/items/read-item-history.ts';
import { readLine } from '../../store/views/items/read-line.ts';
import type { Handler } from '../requests/handler.ts';
import { asJson, timeOrNull } from '../requests/wire-values.ts';

const CHILDREN = 100;

export const getItem: Handler<typeof itemRoutes.getItem> = async ({ job, params: { seq } }, { reads }) => {
  const { jobId, generation } = job;
  const [item, history, lineage, line] = await Promise.all([
    readItem(reads, jobId, generation, seq),
    readItemHistory(reads, jobId, generation, seq),
    readChildren(reads, jobId, generation, seq, CHILDREN),
    readLine(reads, jobId, seq),
  ]);
  if (!item) throw new RowmillError('ITEM_NOT_FOUND', `the job has no row ${rowNumber(seq)}`);
  return {
    seq,
    row: rowNumber(seq),
    status: item.status ?? 'PENDING',
    input: asJson(item.input),
    result: asJson(item.result),
    phase: item.phase,
    attempts: item.attempt,
    errorClass: item.error_class,
    error: item.error,
    generation: item.generation,
    handlerMs: item.handler_ms,
    cost: item.cost,
    finishedAt: timeOrNull(item.finished_at),
    now: item.now ?? 'ENDED',
    readyAt: timeOrNull(item.ready_at),
    lockedBy: item.locked_by,
    summary: item.summary,
    // An image is a row by itself.
    line: job.source?.detected.format === 'images' ? null : line,
    startPhase: item.start_phase,
    costUnit: job.costUnit,
    originalInput: asJson(item.original_input),
    edits: history.edits.map(({ generation: since, input, editedAt }) => ({
      generation: since,
      input: asJson(input),
      editedAt: editedAt.toISOString(),
    })),
    stages: history.stages.map((stage) => ({ ...stage, output: asJson(stage.output) })),
    failures: history.failures.map((failure) => ({ ...failure, failedAt: failure.failedAt.toISOString() })),
    results: history.results.map((result) => ({
      ...result,
      result: asJson(result.result),
      finishedAt: result.finishedAt.toISOString(),
    })),
    parent: item.parent_seq === null ? null : { seq: item.parent_seq, depth: item.depth - 1 },
    ...lineage,
  };
};

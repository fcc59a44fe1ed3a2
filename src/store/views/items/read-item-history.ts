// The history of one item. Every statement finds it by the first columns of an index and returns only the newest
// entries.
import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { resultsOf } from '../results/stored-results.ts';

/** Number of generations and failed attempts to show. */
const MAX_GENERATIONS = 50;
const MAX_FAILURES = 200;

// Index: result_rows_pkey, result_blocks_pkey.
const READ_ITEM_RESULTS: Statement = {
  name: 'read-item-results',
  text: `
    select generation, phase, attempt, status, handler_ms as "handlerMs", cost, error_class as "errorClass", error, result,
      finished_at as "finishedAt"
    from ${resultsOf('$2')} r
    order by generation desc
    limit ${MAX_GENERATIONS}`,
};
// Index: stage_outputs_pkey.
const READ_ITEM_STAGES: Statement = {
  name: 'read-item-stages',
  text: `
    select generation, phase, output from stage_outputs
    where job_id = $1 and seq = $2 and generation > $3
    order by generation, phase`,
};
// Index: attempt_errors_by_item.
const READ_ITEM_FAILURES: Statement = {
  name: 'read-item-failures',
  text: `
    select * from (
      select generation, phase, attempt, error_class as "errorClass", error, failed_at as "failedAt" from attempt_errors
      where job_id = $1 and seq = $2
      order by generation desc, phase desc, attempt desc
      limit ${MAX_FAILURES}
    ) f
    order by generation, phase, attempt`,
};
// Index: item_edits_pkey.
const READ_ITEM_EDITS: Statement = {
  name: 'read-item-edits',
  text: `
    select generation, input, edited_at as "editedAt" from item_edits
    where job_id = $1 and seq = $2 and generation > $3
    order by generation`,
};

export interface ItemHistory {
  results: {
    generation: number;
    phase: number;
    attempt: number;
    status: ItemStatus;
    handlerMs: number | null;
    cost: number | null;
    errorClass: string | null;
    error: string | null;
    result: unknown;
    finishedAt: Date;
  }[];
  stages: { generation: number; phase: number; output: unknown }[];
  failures: {
    generation: number;
    phase: number;
    attempt: number;
    errorClass: string;
    error: string;
    failedAt: Date;
  }[];
  edits: { generation: number; input: unknown; editedAt: Date }[];
}

export async function readItemHistory(
  db: Executor,
  jobId: string,
  generation: number,
  seq: number,
): Promise<ItemHistory> {
  const read = async <Row>(statement: Statement, ...values: unknown[]): Promise<Row[]> =>
    (await db.run<Row & Record<string, unknown>>(statement, [jobId, seq, ...values])).rows;
  const before = generation - MAX_GENERATIONS;
  const [results, stages, failures, edits] = await Promise.all([
    read<ItemHistory['results'][number]>(READ_ITEM_RESULTS),
    read<ItemHistory['stages'][number]>(READ_ITEM_STAGES, before),
    read<ItemHistory['failures'][number]>(READ_ITEM_FAILURES),
    read<ItemHistory['edits'][number]>(READ_ITEM_EDITS, before),
  ]);
  return { results, stages, failures, edits };
}

import type { ItemStatus } from '../../../core/items/outcome.ts';
import type { ChangeTotal, RowChange } from '../../../core/jobs/run-comparison.ts';
import type { Executor, Statement } from '../../../platform/database.ts';
import { newestBetween, resultsBetween } from '../results/stored-results.ts';

// Items of the seqs $4 to $5 with a result of the generations after $2, up to $3: their newest such result beside the
// newest one up to $2. The caller bounds the window, because a block is read for all of its items at once. The condition
// on n.seq is written so that the full join stays one. Index: result_rows_pkey, result_blocks_pkey.
const isGood = (status: string): string => `${status} in ('DONE', 'SKIPPED')`;
const COMPARED = `
      select n.seq, o.generation as old_generation, o.status as old_status, o.result as old_result, o.error as old_error,
        o.cost as old_cost, o.handler_ms as old_ms, n.generation, n.status, n.result, n.error, n.cost, n.handler_ms as ms,
        case when o.seq is null then 'added'
          when ${isGood('n.status')} and not ${isGood('o.status')} then 'fixed'
          when o.status <> n.status and n.status = 'ERROR' then 'newlyFailed'
          when o.status <> n.status and n.status = 'NOT_FOUND' then 'newlyNotFound'
          when o.status <> n.status or o.result is distinct from n.result or o.error is distinct from n.error then 'changed'
          else 'same' end as change
      from (
        select distinct on (r.seq) r.* from ${resultsBetween('$4', '$5')} r
        where r.generation > $2 and r.generation <= $3
        order by r.seq, r.generation desc
      ) n
      full join ${newestBetween('r.*', '$4', '$5', '$2')} o on o.seq = n.seq
      where coalesce(n.seq, -1) >= 0`;

const COMPARE_RUNS: Statement = {
  name: 'compare-runs',
  text: `
    select c.seq, c.change, c.old_generation, c.old_status, c.old_result, c.old_error, c.old_cost, c.old_ms,
      c.generation, c.status, c.result, c.error, c.cost, c.ms
    from (${COMPARED}
    ) c
    where c.change = any($6::text[])
    order by c.seq
    limit $7`,
};

const COMPARE_TOTALS: Statement = {
  name: 'compare-totals',
  text: `
    select c.change, count(*), coalesce(sum(c.old_cost), 0), coalesce(sum(c.cost), 0), coalesce(sum(c.old_ms), 0),
      count(c.old_ms), coalesce(sum(c.ms), 0), count(c.ms)
    from (${COMPARED}
    ) c
    group by c.change`,
};

export interface CompareWindow {
  jobId: string;
  /** Generations; results of later ones than `to` are left out. */
  from: number;
  to: number;
  fromSeq: number;
  toSeq: number;
}

export interface ComparedResult {
  generation: number;
  status: ItemStatus;
  result: unknown;
  error: string | null;
  cost: number | null;
  handlerMs: number | null;
}

export interface ComparedItem {
  seq: number;
  change: RowChange;
  /** Null: the item was added after the first of the two runs. */
  before: ComparedResult | null;
  after: ComparedResult;
}

export async function compareRuns(
  db: Executor,
  { jobId, from, to, fromSeq, toSeq }: CompareWindow,
  changes: readonly RowChange[],
  limit: number,
): Promise<ComparedItem[]> {
  const values = [jobId, from, to, fromSeq, toSeq, changes, limit];
  const rows = await db.runArrays(COMPARE_RUNS, values);
  return rows.map((row) => ({
    seq: row[0] as number,
    change: row[1] as RowChange,
    before: row[2] === null ? null : toResult(row.slice(2, 8)),
    after: toResult(row.slice(8, 14)),
  }));
}

function toResult([generation, status, result, error, cost, handlerMs]: unknown[]): ComparedResult {
  return {
    generation: generation as number,
    status: status as ItemStatus,
    result,
    error: error as string | null,
    cost: cost === null ? null : Number(cost),
    handlerMs: handlerMs as number | null,
  };
}

export async function compareTotals(
  db: Executor,
  { jobId, from, to, fromSeq, toSeq }: CompareWindow,
): Promise<ChangeTotal[]> {
  const rows = await db.runArrays(COMPARE_TOTALS, [jobId, from, to, fromSeq, toSeq]);
  return rows.map((row) => {
    const [rowCount, costBefore, costAfter, msBefore, timedBefore, msAfter, timedAfter] = row
      .slice(1)
      .map(Number);
    return {
      change: row[0] as RowChange,
      rows: rowCount!,
      costBefore: costBefore!,
      costAfter: costAfter!,
      msBefore: msBefore!,
      timedBefore: timedBefore!,
      msAfter: msAfter!,
      timedAfter: timedAfter!,
    };
  });
}

// GET /api/jobs/:jobId/compare: results of two runs side by side, cell by cell. A request scans a bounded part of the
// job and says where to continue; totals cover the part that can be summed in bounded time.
import type { runRoutes } from '../../contract/runs.ts';
import { RowmillError } from '../../core/errors/rowmill-error.ts';
import {
  type ChangeTotal,
  cellChanges,
  ROW_CHANGES,
  type RowChange,
  sumTotals,
} from '../../core/jobs/run-comparison.ts';
import { type CursorKind, decodeCursor, encodeCursor } from '../../core/paging/cursor.ts';
import { monotonicMs } from '../../platform/clock.ts';
import type { Executor } from '../../platform/database.ts';
import { PAGE_BYTES } from '../../store/views/exports/export-row-columns.ts';
import {
  type ComparedItem,
  type ComparedResult,
  compareRuns,
  compareTotals,
} from '../../store/views/jobs/compare-runs.ts';
import type { Job } from '../../store/views/jobs/read-job.ts';
import type { Handler } from '../requests/handler.ts';
import { asJson } from '../requests/wire-values.ts';

/** Seqs per statement. */
const WINDOW = 10_000;
/** No further statement is sent after this time. */
const LOOK_MS = 1000;
const TOTALS_MS = 2000;
/** Rows that are the same in both runs only on request. */
const DEFAULT_CHANGES: readonly RowChange[] = ROW_CHANGES.filter((change) => change !== 'same');

export const compareRunsOfJob: Handler<typeof runRoutes.compareRuns> = async ({ job, query }, { reads }) => {
  const { limit, cursor, change, ...runs } = query;
  return compareRunsOf(reads, job, { ...runs, limit, cursor, changes: change });
};

export interface CompareRequest {
  /** Default: the run before `to`, which is the newest by default. */
  from?: number | undefined;
  to?: number | undefined;
  changes?: readonly RowChange[] | undefined;
  limit: number;
  cursor?: string | undefined;
}

/** Also for the command line on a database. */
export async function compareRunsOf(
  db: Executor,
  { jobId, generation, itemCount, costUnit }: Pick<Job, 'jobId' | 'generation' | 'itemCount' | 'costUnit'>,
  { changes = DEFAULT_CHANGES, limit, cursor, ...runs }: CompareRequest,
) {
  const { from, to } = checkedRuns(runs, generation);
  const kind = {
    list: `compare ${jobId} ${from} ${to} ${changes.join()}`,
    sort: 'seq',
    key: ['seq'],
  } as const satisfies CursorKind;
  const startSeq = cursor === undefined ? 0 : decodeCursor(kind, cursor)[0];
  const base = { jobId, from, to };
  const startedMs = monotonicMs();
  const items: ReturnType<typeof showCompared>[] = [];
  let bytes = 0;
  let next = startSeq;
  while (next < itemCount && items.length < limit && bytes < PAGE_BYTES) {
    if (next > startSeq && monotonicMs() - startedMs > LOOK_MS) break;
    const window = { ...base, fromSeq: next, toSeq: Math.min(itemCount, next + WINDOW) };
    const found = await compareRuns(db, window, changes, limit - items.length);
    next = window.toSeq;
    for (const [at, item] of found.entries()) {
      const shown = showCompared(item);
      items.push(shown);
      bytes += JSON.stringify(shown.cells).length;
      const isFull = items.length >= limit || bytes >= PAGE_BYTES;
      if (!isFull) continue;
      next = item.seq + 1;
      if (at < found.length) break;
    }
  }
  return {
    from,
    to,
    costUnit,
    items,
    next: next < itemCount ? encodeCursor(kind, [next]) : null,
    totals: cursor === undefined ? await totalsOf(db, base, itemCount) : null,
  };
}

function checkedRuns(
  { from: first, to: second }: Pick<CompareRequest, 'from' | 'to'>,
  generation: number,
): { from: number; to: number } {
  const to = second ?? generation;
  const from = first ?? to - 1;
  if (from >= 1 && from < to && to <= generation) return { from, to };
  throw new RowmillError(
    'REQUEST_INVALID',
    generation === 1
      ? 'the job has one run, there is nothing to compare'
      : `expected two runs of 1 to ${generation}, the earlier one first, got ${from} and ${to}`,
  );
}

async function totalsOf(
  db: Executor,
  base: { jobId: string; from: number; to: number },
  itemCount: number,
): Promise<ReturnType<typeof sumTotals> & { upToSeq: number; isComplete: boolean }> {
  const startedMs = monotonicMs();
  const parts: ChangeTotal[] = [];
  let upToSeq = 0;
  while (upToSeq < itemCount && (upToSeq === 0 || monotonicMs() - startedMs < TOTALS_MS)) {
    const toSeq = Math.min(itemCount, upToSeq + WINDOW);
    parts.push(...(await compareTotals(db, { ...base, fromSeq: upToSeq, toSeq })));
    upToSeq = toSeq;
  }
  return { ...sumTotals(parts), upToSeq, isComplete: upToSeq >= itemCount };
}

function showCompared({ seq, change, before, after }: ComparedItem) {
  return {
    seq,
    change,
    before: before && showResult(before),
    after: showResult(after),
    cells: cellChanges(before?.result ?? null, after.result).map((cell) => ({
      ...cell,
      before: asJson(cell.before),
      after: asJson(cell.after),
    })),
  };
}

function showResult({ result: _, ...shown }: ComparedResult) {
  return shown;
}

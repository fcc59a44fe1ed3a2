// rowmill compare <job>: results of two runs side by side, cell by cell.
import { formatCost } from '../../core/limits/format-cost.ts';
import { ROW_CHANGES, type RowChange } from '../../core/jobs/run-comparison.ts';
import { rows } from '../describe-stop.ts';
import { formatCount, statusLabel } from '../progress-lines.ts';
import type { TargetOptions } from '../remote/choose-target.ts';
import type { ShownComparison } from '../remote/job-port.ts';
import { withPort } from '../remote/with-port.ts';
import { textTable } from '../text-table.ts';

const MAX_CELL = 40;
const WORDS: Record<RowChange, string> = {
  fixed: 'fixed',
  newlyFailed: 'newly failed',
  newlyNotFound: 'newly not found',
  changed: 'changed',
  added: 'added',
  same: 'same',
};

export interface CompareOptions extends TargetOptions {
  from?: number;
  to?: number;
  change?: RowChange[];
  limit?: number;
  json?: boolean;
}

export async function printComparison(prefix: string, options: CompareOptions): Promise<number> {
  return withPort(options, async (port) => {
    const { jobId } = await port.findJob(prefix);
    const { from, to, change: changes, limit = 50 } = options;
    const compared = await port.compare(jobId, { from, to, changes, limit });
    if (options.json) console.log(JSON.stringify(compared));
    else for (const line of comparisonLines(compared)) console.log(line);
    if (!options.json && compared.more && compared.items.length > 0)
      console.error(
        `First ${rows(compared.items.length)}. Use --limit to see more, or --change to see some.`,
      );
    return 0;
  });
}

function* comparisonLines(compared: ShownComparison): Generator<string> {
  const { from, to, totals, items, costUnit } = compared;
  if (totals) {
    const counts = ROW_CHANGES.map((change) => `${formatCount(totals.rows[change] ?? 0)} ${WORDS[change]}`);
    const part = totals.isComplete ? '' : ` (first ${rows(totals.upToSeq)} of the job)`;
    yield `Run ${from} and run ${to}: ${counts.join(', ')}${part}`;
    const { costBefore, costAfter, handlerMsBefore, handlerMsAfter } = totals;
    const facts = [];
    if (costBefore > 0 || costAfter > 0)
      facts.push(`Cost ${formatCost(costBefore, costUnit)}, then ${formatCost(costAfter, costUnit)}`);
    if (handlerMsBefore !== null && handlerMsAfter !== null)
      facts.push(`average call ${milliseconds(handlerMsBefore)}, then ${milliseconds(handlerMsAfter)}`);
    if (facts.length > 0) yield facts.join('; ');
  }
  if (items.length === 0) {
    yield 'No rows to show';
    return;
  }
  yield* textTable(['Row', 'Change', 'Cell', `Run ${from}`, `Run ${to}`], items.flatMap(cellsOf));
}

/** One line per cell that differs; the number of the row only on the first. */
function cellsOf({ seq, change, before, after, cells }: ShownComparison['items'][number]): string[][] {
  const lines: string[][] = [];
  if (before?.status !== after.status)
    lines.push(['status', before ? statusLabel(before.status) : '', statusLabel(after.status)]);
  if (before && before.error !== after.error) lines.push(['error', before.error ?? '', after.error ?? '']);
  for (const cell of cells)
    lines.push([cell.column === '' ? 'result' : cell.column, textOf(cell.before), textOf(cell.after)]);
  if (lines.length === 0) lines.push(['', '', '']);
  return lines.map(([cell, was, is], at) => [
    at === 0 ? String(seq + 1) : '',
    at === 0 ? WORDS[change] : '',
    cell!,
    shorten(was!),
    shorten(is!),
  ]);
}

function textOf(value: unknown): string {
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function shorten(text: string): string {
  return text.length > MAX_CELL ? `${text.slice(0, MAX_CELL - 1)}…` : text;
}

function milliseconds(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : formatCount(Math.round(ms))} ms`;
}

// The expected cost and time of a job, in words: for its rows, or per 1,000 rows while their
// number is unknown.
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { formatCount, formatTimeLeft } from '../../lib/format.ts';
import type { Preview } from './column-choices.ts';

type Estimate = NonNullable<Preview['estimate']>;

export interface EstimateWords {
  /** Such as "4,998 rows". */
  rows: string;
  /** Null for a pipeline without costs. */
  cost: string | null;
  time: string;
}

const UNIT_ROWS = 1000;

/** Rows that will run; null while they are not counted. */
export function rowsToRun(checked: Preview['checked'], trial: number | undefined): number | null {
  if (!checked.wholeFile) return trial ?? null;
  const rows = checked.rows - checked.refused - checked.rejected;
  return trial === undefined ? rows : Math.min(trial, rows);
}

export function estimateWords(
  estimate: Estimate,
  rows: number | null,
  costUnit: string | null,
): EstimateWords {
  const { costPerRow, costFrom, costUnknownBecause, rowsPerSecond, speedUnknownBecause, jobs } = estimate;
  const count = rows ?? UNIT_ROWS;
  const from = jobs === 1 ? 'from the last job' : `from the last ${formatCount(jobs)} jobs`;
  const cost =
    costPerRow !== null
      ? `cost ${costWords(costPerRow.low * count, costPerRow.high * count, costUnit)} (${costFrom === 'jobs' ? from : 'as the pipeline declares'})`
      : costUnknownBecause === null
        ? null
        : `cost unknown: ${costUnknownBecause}`;
  const time =
    rowsPerSecond === null
      ? `time unknown: ${speedUnknownBecause}`
      : `${timeWords((count * 1000) / rowsPerSecond.high, (count * 1000) / rowsPerSecond.low)} (${from})`;
  const words = `${formatCount(count)} ${count === 1 ? 'row' : 'rows'}`;
  return { rows: rows === null ? `Per ${words}` : `${words} to run`, cost, time };
}

/** An estimate is not exact to the cent: two digits count. */
function costWords(low: number, high: number, costUnit: string | null): string {
  const [from, to] = [low, high].map((cost) => formatCost(Number(cost.toPrecision(2)), costUnit));
  return from === to ? `about ${from}` : `${from} to ${to}`;
}

/** As the time left of a job. */
function timeWords(lowMs: number, highMs: number): string {
  return highMs < 1000 ? 'less than a second' : formatTimeLeft(lowMs, highMs);
}

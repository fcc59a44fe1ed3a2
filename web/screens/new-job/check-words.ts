// Describes the check of a file: rows that will fail, lines that are left out, and rows that were repaired.
import { formatCount } from '../../lib/format.ts';
import type { Preview } from './column-choices.ts';

export type RowCheck = Preview['checked'];
export type ProblemKind = RowCheck['kinds'][number];

const REPAIRED = 'repaired';

/** Empty if there is nothing to report. */
export function checkWords({ refused, rejected, kinds }: RowCheck): string[] {
  const repaired = kinds.find(({ field, kind }) => field === null && kind === REPAIRED)?.rows ?? 0;
  return [
    refused > 0 &&
      `${count(refused, 'row')} will fail at no cost; you can correct ${refused === 1 ? 'it' : 'them'} later.`,
    rejected > 0 &&
      (rejected === 1
        ? '1 line cannot be read and is left out; correct it in your file.'
        : `${count(rejected, 'line')} cannot be read and are left out; correct them in your file.`),
    repaired > 0 &&
      (repaired === 1
        ? '1 row was repaired and will run.'
        : `${count(repaired, 'row')} were repaired and will run.`),
  ].filter((words) => words !== false);
}

export function kindWords({ field, kind }: Pick<ProblemKind, 'field' | 'kind'>): string {
  return field === null ? kind : `${field}: ${kind}`;
}

export function isOfKind(problem: Pick<ProblemKind, 'field' | 'kind'>, wanted: ProblemKind): boolean {
  return problem.field === wanted.field && problem.kind === wanted.kind;
}

function count(rows: number, unit: string): string {
  return `${formatCount(rows)} ${unit}${rows === 1 ? '' : 's'}`;
}

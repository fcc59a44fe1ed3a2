// Describes the check of a file: rows that will fail, lines that are left out, and rows that were repaired.
import { formatCount } from '../../lib/format.ts';
import type { Preview } from './column-choices.ts';

/** Empty if there is nothing to report. */
export function checkWords({ looked, checked }: Pick<Preview, 'looked' | 'checked'>): string[] {
  const { refused, rejected } = checked;
  const repaired = repairedRows({ looked, checked });
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

/** `looked` counts repaired rows together with the others, over fewer rows than `checked`. 0 if unknown. */
function repairedRows({ looked, checked }: Pick<Preview, 'looked' | 'checked'>): number {
  const stopped = checked.refused + checked.rejected;
  return stopped === 0 || looked.rows === checked.rows ? looked.withProblems - stopped : 0;
}

function count(rows: number, unit: string): string {
  return `${formatCount(rows)} ${unit}${rows === 1 ? '' : 's'}`;
}

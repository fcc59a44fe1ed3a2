// Sizes of columns from the first rows that arrive. They change no more once results are among them, so that columns
// do not move under the pointer.
import { useMemo, useState } from 'react';
import { formatOf, type Item, type Job } from '../../../lib/job.ts';
import { type ColumnSizes, columnSizes, NO_SIZES, SAMPLE_ROWS } from './column-sizes.ts';
import { type ColumnedJob, gridColumns } from './grid-columns.ts';
import type { RowPages } from './row-pages.ts';

const NONE: readonly Item[] = [];

export function useColumnSizes(job: Job, pages: RowPages<Item>): ColumnSizes {
  const [sample, setSample] = useState(NONE);
  const { columns, resultColumns, source } = job;
  const named = JSON.stringify({ columns, resultColumns, format: formatOf(source) });
  if (!sample.some(({ result }) => result !== null)) {
    const rows = firstRows(pages);
    const isBetter = rows.length > sample.length || rows.some(({ result }) => result !== null);
    if (isBetter) setSample(rows);
  }
  return useMemo(
    () =>
      sample.length === 0 ? NO_SIZES : columnSizes(gridColumns(JSON.parse(named) as ColumnedJob), sample),
    [named, sample],
  );
}

function firstRows(pages: RowPages<Item>): Item[] {
  return Array.from({ length: SAMPLE_ROWS }, (_, place) => pages.row(place)).filter(
    (row) => row !== undefined,
  );
}

// The column layout of a job, stored for its pipeline.
import { useCallback, useMemo, useState } from 'react';
import { formatOf, type Job } from '../../../lib/job.ts';
import type { ColumnActions } from './column-header.tsx';
import {
  type ArrangedColumn,
  arrangeColumns,
  type ColumnLayout,
  keepLayout,
  moveColumn,
  pinColumn,
  readLayout,
  resizeColumn,
  showColumn,
  USUAL_LAYOUT,
} from './column-layout.ts';
import type { ColumnSizes } from './column-sizes.ts';
import { type ColumnedJob, gridColumns } from './grid-columns.ts';

export interface Columns {
  /** All columns, in order. */
  arranged: readonly ArrangedColumn[];
  shown: readonly ArrangedColumn[];
  actions: ColumnActions;
  reset: () => void;
}

export function useColumnLayout(
  { pipeline, columns, resultColumns, source, costUnit }: Job,
  errorsFirst: boolean,
  sizes: ColumnSizes,
): Columns {
  const [layout, setLayout] = useState(() => readLayout(localStorage, pipeline));
  // The job is refetched often; its columns seldom change.
  const format = formatOf(source);
  const named = JSON.stringify({ columns, resultColumns, format, errorsFirst, costUnit });
  const all = useMemo(() => gridColumns(JSON.parse(named) as ColumnedJob), [named]);
  const arranged = useMemo(() => arrangeColumns(all, layout, sizes), [all, layout, sizes]);
  const change = useCallback(
    (next: (layout: ColumnLayout) => ColumnLayout) =>
      setLayout((before) => {
        const after = next(before);
        keepLayout(localStorage, pipeline, after);
        return after;
      }),
    [pipeline],
  );
  const actions = useMemo(
    (): ColumnActions => ({
      move: (columnId, by) =>
        change((before) => moveColumn(arrangeColumns(all, before), before, columnId, by)),
      pin: (columnId, isPinned) => change((before) => pinColumn(before, columnId, isPinned)),
      show: (columnId, isShown) => change((before) => showColumn(before, columnId, isShown)),
      resize: (columnId, widthPx) => change((before) => resizeColumn(before, columnId, widthPx)),
    }),
    [all, change],
  );
  const shown = useMemo(() => arranged.filter(({ isShown }) => isShown), [arranged]);
  const reset = useCallback(() => change(() => USUAL_LAYOUT), [change]);
  return { arranged, shown, actions, reset };
}

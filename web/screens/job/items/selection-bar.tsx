// Actions on the selected rows.
import { Copy, RotateCcw } from 'lucide-react';
import { lazy, useState } from 'react';
import { Button } from '../../../components/button.tsx';
import { OnceOpen } from '../../../components/once-open.tsx';
import { say, sayError } from '../../../components/toasts.tsx';
import { copyText } from '../../../lib/copy-text.ts';
import { fetchPart } from '../../../lib/fetch-part.ts';
import { formatCount } from '../../../lib/format.ts';
import { canRerun, FINISHED_STATUSES, type Item, type Job } from '../../../lib/job.ts';
import { usePermission } from '../../../lib/permission.ts';
import type { Reprocess } from '../reprocess-dialog.tsx';
import { collectRows, MAX_COPIED } from './collect-rows.ts';
import type { GridColumn } from './grid-columns.ts';
import type { ItemFilter } from './item-filter.ts';
import { MAX_SELECTED, type RowSelection } from './row-selection.ts';
import { rowsAsTsv } from './rows-as-tsv.ts';

const ReprocessDialog = lazy(() =>
  fetchPart(() => import('../reprocess-dialog.tsx')).then((module) => ({ default: module.ReprocessDialog })),
);

export interface SelectionBarProps {
  job: Job;
  selection: RowSelection;
  filter: ItemFilter;
  /** Number of rows that match the filter. Null: not known yet. */
  matching: number | null;
  columns: readonly GridColumn[];
  known: (seq: number) => Item | undefined;
  onSelect: (selection: RowSelection) => void;
  onClear: () => void;
}

export function SelectionBar(props: SelectionBarProps) {
  const { job, selection, filter, matching, columns, known, onSelect, onClear } = props;
  const [reprocess, setReprocess] = useState<Reprocess | null>(null);
  const [isBusy, setBusy] = useState(false);
  const selected = selection.kind === 'all' ? matching : selection.seqs.size;
  const words =
    selected === null ? 'all matching rows' : `${formatCount(selected)} ${selected === 1 ? 'row' : 'rows'}`;
  const copy = async () => {
    setBusy(true);
    try {
      const rows = await collectRows(job.jobId, selection, filter, known);
      await copyText(rowsAsTsv(rows, columns));
      const isCut = selected === null ? rows.length === MAX_COPIED : selected > rows.length;
      say(
        isCut
          ? `Copied the first ${formatCount(rows.length)} rows. Download for more.`
          : `Copied ${formatCount(rows.length)} ${rows.length === 1 ? 'row' : 'rows'}`,
      );
    } catch (error) {
      sayError(error);
    }
    setBusy(false);
  };
  const { can } = usePermission();
  const canRun = canRerun(job.state);
  return (
    <div
      role="region"
      aria-label="Selected rows"
      className="flex flex-wrap items-center gap-2 border-b border-line bg-accent-soft px-3 py-1.5"
    >
      <span role="status" className="font-medium tabular-nums">
        {words} selected{selection.kind === 'some' && selection.seqs.size >= MAX_SELECTED && ' (maximum)'}
      </span>
      {selection.kind === 'some' && (
        <Button size="small" kind="quiet" onClick={() => onSelect({ kind: 'all' })}>
          {Object.keys(filter).length === 0
            ? `Select all ${formatCount(job.itemCount)}`
            : 'Select all matching'}
        </Button>
      )}
      <span className="ml-auto flex flex-wrap gap-2">
        {can('reprocessJob') && (
          <Button
            size="small"
            disabled={!canRun}
            title={canRun ? undefined : 'Available when the job is finished or paused'}
            onClick={() =>
              setReprocess({ verb: 'Rerun', what: words, request: requestOf(selection, filter) })
            }
          >
            <RotateCcw size={14} aria-hidden /> Rerun…
          </Button>
        )}
        <Button size="small" disabled={isBusy} onClick={() => void copy()}>
          <Copy size={14} aria-hidden /> Copy
        </Button>
        <Button size="small" kind="quiet" onClick={onClear}>
          Clear
        </Button>
      </span>
      <OnceOpen open={reprocess !== null}>
        <ReprocessDialog
          job={job}
          reprocess={reprocess}
          onClose={() => setReprocess(null)}
          onDone={onClear}
        />
      </OnceOpen>
    </div>
  );
}

/** "All matching" sends the filter; without statuses the server would take failures only. */
function requestOf(selection: RowSelection, filter: ItemFilter): Reprocess['request'] {
  if (selection.kind === 'some')
    return { scope: 'items', itemIds: [...selection.seqs], statuses: [...FINISHED_STATUSES] };
  const { statuses: wanted, ...rest } = filter;
  const statuses = wanted
    ? FINISHED_STATUSES.filter((status) => wanted.split(',').includes(status))
    : [...FINISHED_STATUSES];
  if (Object.keys(rest).length === 0) return { scope: 'job', statuses };
  return { scope: 'filter', statuses, ...rest };
}

// Unfinished rows of a job: status, worker and attempts.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { RotateCw } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { checkBoxClass } from '../../components/check-field.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { inputClass } from '../../components/field.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StatusChip, statusWord } from '../../components/status-chip.tsx';
import { classNames } from '../../lib/class-names.ts';
import { client, queries } from '../../lib/client.ts';
import { formatCount, formatPercent } from '../../lib/format.ts';
import type { Job, PendingItem } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import { retryAllNow, retryRowsNow } from '../../lib/retry-now.ts';
import { timeRange } from '../../lib/time-range.ts';
import { FailedScreen } from '../failed-screen.tsx';
import { RowNumber } from './row-number.tsx';
import { useJobChange } from './use-job-change.ts';
import { useJobSearch } from './use-job-search.ts';

const STATUSES = ['PENDING', 'PROCESSING', 'RETRYING', 'HELD'] as const;
const ROW_PX = 40;
const REFRESH_MS = 5000;
const TEMPLATE = '2.5rem 6.5rem minmax(12rem, 2fr) 11rem 6rem 5.5rem minmax(8rem, 1fr) 7rem 8rem 8rem';
/** Header and rows are separate grids and need the same width. */
const widthClass = 'min-w-[74.5rem]';
const HEADS = ['Row', 'Summary', 'Status', 'Phase', 'Attempts', 'Worker', 'Updated', 'Pipeline', 'Progress'];

export function PendingTab({ job }: { job: Job }) {
  const { jobId } = job;
  const [{ pending: status = '', from = '', to = '' }, change] = useJobSearch();
  const key = ['job', jobId, 'pending', status, from, to];
  const canRetry = usePermission().can('retryPending');
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const pending = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listPendingOfJob(
        {
          jobId,
          pageSize: 100,
          ...(status !== '' && { statuses: status }),
          ...timeRange(from, to),
          ...(pageParam !== undefined && { after: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const { data, isFetching, hasNextPage, fetchNextPage } = pending;
  // All loaded pages are refetched together, so with many of them only on request.
  useJobChange(jobId, REFRESH_MS, () => {
    if ((data?.pages.length ?? 0) <= 2 && !isFetching) void queries.invalidateQueries({ queryKey: key });
  });
  if (pending.isError && (!data || pending.isFetchNextPageError))
    return <FailedScreen error={pending.error} />;
  const items = data?.pages.flatMap((page) => page.items) ?? [];
  const isEmpty = data !== undefined && items.length === 0 && !hasNextPage;
  // Rows that were retried meanwhile drop out of the selection.
  const waiting = items.filter((item) => item.status === 'RETRYING' && chosen.has(item.seq));
  const choose = (seq: number, isOn: boolean) =>
    setChosen((before) => {
      const next = new Set(before);
      if (isOn) next.add(seq);
      else next.delete(seq);
      return next;
    });
  const retry = async () => {
    await (waiting.length > 0 ? retryRowsNow(waiting) : retryAllNow(jobId));
    setChosen(new Set());
  };
  return (
    <section
      aria-label="In progress"
      className={classNames(
        'flex flex-col overflow-hidden rounded-lg border border-line bg-surface',
        !isEmpty && 'h-[max(26rem,calc(100dvh-8rem))]',
      )}
    >
      <div className="flex flex-wrap items-center gap-2 border-b border-line p-2">
        <select
          aria-label="Status"
          className={classNames(inputClass, 'w-auto')}
          value={status}
          onChange={(event) => change({ pending: (event.target.value as typeof status) || undefined })}
        >
          <option value="">All unfinished</option>
          {STATUSES.map((each) => (
            <option key={each} value={each}>
              {statusWord(each)}
            </option>
          ))}
        </select>
        <DayField label="Updated from" value={from} onChange={(day) => change({ from: day })} />
        <DayField label="Updated to" value={to} onChange={(day) => change({ to: day })} />
        {canRetry && (
          <Button
            className="sm:ml-auto"
            disabled={waiting.length === 0 && job.retrying === 0}
            title="Skips the retry delay"
            onClick={() => void retry()}
          >
            <RotateCw size={15} aria-hidden />{' '}
            {waiting.length > 0 ? `Retry ${formatCount(waiting.length)} now` : 'Retry all now'}
          </Button>
        )}
      </div>
      {isEmpty ? (
        <EmptyState title="Nothing in progress">
          {status === '' && from === '' && to === '' ? 'All rows are finished.' : 'No matching rows.'}
        </EmptyState>
      ) : (
        <PendingList
          phases={job.phases}
          items={items}
          hasMore={hasNextPage}
          isLoading={isFetching}
          loadMore={() => void fetchNextPage()}
          chosen={chosen}
          onChoose={canRetry ? choose : null}
        />
      )}
    </section>
  );
}

interface DayFieldProps {
  label: string;
  value: string;
  onChange: (day: string) => void;
}

function DayField({ label, value, onChange }: DayFieldProps) {
  return (
    <label className="flex items-center gap-1.5 text-[13px] text-muted">
      {label}
      <input
        type="date"
        className={classNames(inputClass, 'w-auto')}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </label>
  );
}

interface PendingListProps {
  phases: readonly string[];
  items: readonly PendingItem[];
  hasMore: boolean;
  isLoading: boolean;
  loadMore: () => void;
  chosen: ReadonlySet<number>;
  /** Null: the rows cannot be selected. */
  onChoose: ((seq: number, isOn: boolean) => void) | null;
}

function PendingList(props: PendingListProps) {
  const { phases, items, hasMore, isLoading, loadMore, chosen, onChoose } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 15,
  });
  const seen = rows.getVirtualItems();
  const lastSeen = seen.at(-1)?.index ?? -1;
  useEffect(() => {
    if (hasMore && !isLoading && lastSeen >= items.length - 30) loadMore();
  }, [hasMore, isLoading, lastSeen, items.length, loadMore]);
  return (
    <div
      ref={scroller}
      role="table"
      aria-label="Unfinished rows"
      aria-rowcount={hasMore ? -1 : items.length + 1}
      tabIndex={0}
      className="min-h-0 flex-1 overflow-auto"
    >
      <div role="rowgroup" className={`sticky top-0 z-10 ${widthClass}`}>
        <div
          role="row"
          className="grid border-b border-line bg-sunken text-[13px] text-muted"
          style={{ gridTemplateColumns: TEMPLATE }}
        >
          <div role="columnheader">
            <span className="sr-only">Selected</span>
          </div>
          {HEADS.map((head) => (
            <div key={head} role="columnheader" className="truncate px-3 py-2 font-medium">
              {head}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className={`relative ${widthClass}`} style={{ height: rows.getTotalSize() }}>
        {seen.map(({ index, start }) => (
          <PendingRow
            key={items[index]!.seq}
            item={items[index]!}
            phase={phases[items[index]!.phase] ?? ''}
            place={index}
            top={start}
            isChosen={chosen.has(items[index]!.seq)}
            onChoose={onChoose}
          />
        ))}
      </div>
      {isLoading && <p className="p-3 text-muted">Loading…</p>}
    </div>
  );
}

interface PendingRowProps {
  item: PendingItem;
  phase: string;
  place: number;
  top: number;
  isChosen: boolean;
  onChoose: ((seq: number, isOn: boolean) => void) | null;
}

function PendingRow({ item, phase, place, top, isChosen, onChoose }: PendingRowProps) {
  const cell = 'flex items-center truncate px-3';
  return (
    <div
      role="row"
      aria-rowindex={place + 2}
      className="absolute inset-x-0 grid border-b border-line hover:bg-sunken"
      style={{ gridTemplateColumns: TEMPLATE, height: ROW_PX, transform: `translateY(${top}px)` }}
    >
      <div role="cell" className="flex items-center justify-center">
        {onChoose && item.status === 'RETRYING' && (
          <input
            type="checkbox"
            aria-label={`Select row ${item.row}`}
            className={checkBoxClass}
            checked={isChosen}
            onChange={(event) => onChoose(item.seq, event.target.checked)}
          />
        )}
      </div>
      <div role="rowheader" className={cell}>
        <RowNumber seq={item.seq} />
      </div>
      <div role="cell" className={cell} title={item.summary ?? ''}>
        <span className="truncate">{item.summary}</span>
      </div>
      <div role="cell" className={cell}>
        <StatusChip status={item.status} />
        {item.status === 'RETRYING' && item.readyAt && (
          <span className="ml-2 truncate text-[13px] text-muted">
            <span className="sr-only">retrying </span>
            <RelativeTime at={item.readyAt} />
          </span>
        )}
      </div>
      <div role="cell" className={cell} title={phase}>
        <span className="truncate">{phase}</span>
      </div>
      <div role="cell" className={`${cell} tabular-nums`}>
        {item.attempts}
      </div>
      <div role="cell" className={cell} title={item.lockedBy ?? ''}>
        <span className="truncate">{item.lockedBy}</span>
      </div>
      <div role="cell" className={cell}>
        <RelativeTime at={item.updatedAt} />
      </div>
      <div role="cell" className={cell}>
        <span className="truncate">{item.jobType}</span>
      </div>
      <div role="cell" className={`${cell} gap-2`}>
        <span aria-hidden className="h-1.5 w-12 overflow-hidden rounded-full bg-quiet-soft">
          <span className="block h-full bg-good" style={{ width: `${item.progress * 100}%` }} />
        </span>
        <span className="text-[13px] text-muted tabular-nums">{formatPercent(item.progress)}</span>
      </div>
    </div>
  );
}

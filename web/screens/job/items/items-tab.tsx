// The Rows tab: search, filters, selection and grid.
import { Link2, ListEnd, X } from 'lucide-react';
import { type FormEvent, memo, useCallback, useEffect, useMemo, useState } from 'react';
import { Button } from '../../../components/button.tsx';
import { EmptyState } from '../../../components/empty-state.tsx';
import { inputClass } from '../../../components/field.tsx';
import { RowmillApiError } from '../../../../src/client/rowmill-api-error.ts';
import { SORTED_ROWS_MAX } from '../../../../src/core/paging/item-sort.ts';
import { rowNumber, seqOfRow } from '../../../../src/contract/row-number.ts';
import { classNames } from '../../../lib/class-names.ts';
import { copyLink } from '../../../lib/copy-link.ts';
import { errorWords } from '../../../lib/error-words.ts';
import { formatCount } from '../../../lib/format.ts';
import type { Item, Job } from '../../../lib/job.ts';
import { useJobSearch } from '../use-job-search.ts';
import { ColumnsMenu } from './columns-menu.tsx';
import { ExportMenu } from './export-menu.tsx';
import { hasOnlyErrors, itemFilter } from './item-filter.ts';
import { ItemGrid } from './item-grid.tsx';
import type { RowPages } from './row-pages.ts';
import { isNothing, NOTHING, type RowSelection } from './row-selection.ts';
import { SelectionBar } from './selection-bar.tsx';
import { StatusFilter } from './status-filter.tsx';
import { useShowRows } from './shown-rows.ts';
import { useColumnLayout } from './use-column-layout.ts';
import { useColumnSizes } from './use-column-sizes.ts';
import { useRowPages } from './use-row-pages.ts';

const TYPING_MS = 300;

export const ItemsTab = memo(function ItemsTab({ job, itemCount }: { job: Job; itemCount: number }) {
  const [search, change] = useJobSearch();
  const filter = itemFilter(search);
  const wanted = JSON.stringify(filter);
  const isFiltered = wanted !== '{}';
  const { sort } = search;
  const pages = useRowPages(job, itemCount, { ...filter, ...(sort && { sort }) });
  useShowRows(pages);
  const sizes = useColumnSizes(job, pages);
  const columns = useColumnLayout(job, hasOnlyErrors(filter), sizes);
  const [goTo, setGoTo] = useState<{ place: number; count: number } | null>(null);
  // The selection is dropped when the filter changes.
  const [chosen, setChosen] = useState({ wanted, selection: NOTHING });
  const selection = chosen.wanted === wanted ? chosen.selection : NOTHING;
  const select = useCallback((next: RowSelection) => setChosen({ wanted, selection: next }), [wanted]);
  const changeSort = useCallback((next: string | undefined) => change({ sort: next }), [change]);
  const open = useCallback((seq: number) => change({ row: seq }, false), [change]);
  const known = useMemo(
    () => (seq: number) => (isFiltered || sort ? undefined : pages.row(seq)),
    [isFiltered, sort, pages],
  );
  const matching = isFiltered ? (pages.hasMore ? null : pages.count) : itemCount;
  const isEmpty = pages.count === 0 && !pages.hasMore;
  return (
    <section
      aria-label="Rows"
      className={classNames(
        'no-print flex flex-col overflow-hidden rounded-lg border border-line bg-surface',
        !isEmpty && 'h-[max(26rem,calc(100dvh-8rem))]',
      )}
    >
      <div className="no-print flex flex-wrap items-center gap-1.5 border-b border-line p-1.5 sm:gap-2 sm:p-2">
        <SearchField value={search.search ?? ''} onChange={(text) => change({ search: text })} />
        <StatusFilter statuses={search.statuses ?? ''} onChange={(statuses) => change({ statuses })} />
        <FilterChips job={job} />
        <span role="status" className="px-1 text-[13px] text-muted tabular-nums empty:hidden">
          {countWords(pages, isFiltered, itemCount)}
        </span>
        {pages.keyMatch !== null && pages.keyMatch !== search.row && (
          <Button size="small" onClick={() => open(pages.keyMatch!)}>
            Open row {formatCount(rowNumber(pages.keyMatch))}, the exact match
          </Button>
        )}
        {isFiltered && pages.isHalted && pages.hasMore && (
          <Button size="small" onClick={() => pages.goOn()}>
            Keep searching
          </Button>
        )}
        {isFiltered && !pages.isHalted && pages.isLoading && pages.hasMore && (
          <Button size="small" onClick={() => pages.halt()}>
            Stop
          </Button>
        )}
        <div className="contents sm:ml-auto sm:flex sm:flex-wrap sm:items-center sm:gap-2">
          {!isFiltered && !sort && itemCount > 0 && (
            <GoTo
              max={itemCount - 1}
              onGo={(place) => setGoTo((before) => ({ place, count: (before?.count ?? 0) + 1 }))}
            />
          )}
          <ColumnsMenu arranged={columns.arranged} actions={columns.actions} onReset={columns.reset} />
          <Button
            className="hidden sm:inline-flex"
            aria-label="Copy link"
            title="Copy link"
            onClick={copyLink}
          >
            <Link2 size={16} aria-hidden />
          </Button>
          <ExportMenu job={job} filter={filter} arranged={columns.arranged} />
        </div>
      </div>
      {!isNothing(selection) && (
        <SelectionBar
          job={job}
          selection={selection}
          filter={filter}
          matching={matching}
          columns={columns.shown}
          known={known}
          onSelect={select}
          onClear={() => select(NOTHING)}
        />
      )}
      {pages.error !== null && <LoadFailed pages={pages} />}
      {isEmpty ? (
        <NoRows job={job} isFiltered={isFiltered} />
      ) : (
        <ItemGrid
          // A new filter or order starts at the top.
          key={`${wanted} ${sort ?? ''}`}
          jobId={job.jobId}
          pages={pages}
          columns={columns.shown}
          actions={columns.actions}
          sort={sort}
          onSort={changeSort}
          selection={selection}
          onSelect={select}
          openRow={search.row}
          onOpen={open}
          goTo={goTo}
        />
      )}
    </section>
  );
});

function countWords(pages: RowPages<Item>, isFiltered: boolean, itemCount: number): string {
  if (!isFiltered) return '';
  const found = `${formatCount(pages.count)} ${pages.count === 1 ? 'match' : 'matches'}`;
  if (!pages.hasMore) return found;
  const isBegun = pages.count > 0 || Boolean(pages.looked) || pages.isHalted;
  if (!isBegun) return 'Searching…';
  if (!pages.isLoading && !pages.isHalted) return `${formatCount(pages.count)}+ matches`;
  const searched = pages.looked
    ? ` (searched ${formatCount(pages.looked)} of ${formatCount(itemCount)})`
    : '';
  return `${found} so far${searched}${pages.isHalted ? '' : '…'}`;
}

function SearchField({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [typed, setTyped] = useState({ text: value, from: value });
  // The URL wins when it changed elsewhere.
  const text = typed.from === value ? typed.text : value;
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => onChange(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <input
      type="search"
      aria-label="Search rows"
      placeholder="Search rows"
      className={classNames(inputClass, 'w-auto min-w-0 flex-1 basis-16 sm:w-56 sm:flex-none')}
      value={text}
      onChange={(event) => setTyped({ text: event.target.value, from: value })}
    />
  );
}

function FilterChips({ job }: { job: Job }) {
  const [{ phase, errorGroup }, change] = useJobSearch();
  return (
    <>
      {phase !== undefined && (
        <FilterChip
          text={`Phase: ${job.phases[phase] ?? phase}`}
          onRemove={() => change({ phase: undefined })}
        />
      )}
      {errorGroup !== undefined && (
        <FilterChip text={`Error: ${errorGroup}`} onRemove={() => change({ errorGroup: undefined })} />
      )}
    </>
  );
}

function FilterChip({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <span className="flex h-9 max-w-72 items-center gap-1 rounded-md bg-accent-soft pr-1 pl-2.5" title={text}>
      <span className="truncate">{text}</span>
      <button
        type="button"
        aria-label={`Remove filter ${text}`}
        onClick={onRemove}
        className="rounded p-0.5 text-muted hover:text-text"
      >
        <X size={14} aria-hidden />
      </button>
    </span>
  );
}

function GoTo({ max, onGo }: { max: number; onGo: (place: number) => void }) {
  const go = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get('place');
    if (text) onGo(seqOfRow(Number(text)));
  };
  return (
    <form onSubmit={go} className="hidden items-center gap-1 md:flex">
      <input
        name="place"
        type="number"
        min={1}
        max={rowNumber(max)}
        aria-label="Go to row"
        placeholder="Go to row"
        className={classNames(inputClass, 'w-32')}
      />
      <Button kind="quiet" aria-label="Jump to last row" title="Jump to last row" onClick={() => onGo(max)}>
        <ListEnd size={16} aria-hidden />
      </Button>
    </form>
  );
}

function LoadFailed({ pages }: { pages: RowPages<Item> }) {
  const { error } = pages;
  const [, change] = useJobSearch();
  if (error instanceof RowmillApiError && error.code === 'SORT_TOO_LARGE')
    return (
      <div role="alert" className="flex items-center gap-3 border-b border-line bg-accent-soft px-3 py-2">
        <span className="min-w-0 flex-1">
          Up to {formatCount(SORTED_ROWS_MAX)} rows can be sorted. Filter by a status with fewer rows first.
        </span>
        <Button size="small" onClick={() => change({ sort: undefined })}>
          Clear sort
        </Button>
      </div>
    );
  return (
    <div role="alert" className="flex items-center gap-3 border-b border-line bg-bad-soft px-3 py-2 text-bad">
      <span className="min-w-0 flex-1 break-words">Couldn't load rows. {errorWords(error).text}</span>
      <Button size="small" onClick={() => pages.retry()}>
        Try again
      </Button>
    </div>
  );
}

function NoRows({ job, isFiltered }: { job: Job; isFiltered: boolean }) {
  const [, change] = useJobSearch();
  if (!isFiltered)
    return (
      <EmptyState title={job.sealed || job.finishedAt !== null ? 'No rows' : 'No rows yet'}>
        {job.state === 'FAILED'
          ? "The file couldn't be read (see above)."
          : job.sealed || job.finishedAt !== null
            ? 'No usable rows in this file.'
            : 'The file is being read. Rows appear here as they are stored.'}
      </EmptyState>
    );
  const none = { statuses: undefined, search: undefined, phase: undefined, errorGroup: undefined };
  return (
    <EmptyState title="No matching rows" action={<Button onClick={() => change(none)}>Show all rows</Button>}>
      Searches your data, results and errors.
    </EmptyState>
  );
}

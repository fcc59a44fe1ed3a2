// The grid of rows: pages of the API put together as one scrolls, only what is seen is in the page.
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { Download } from 'lucide-react';
import { useEffect, useRef } from 'react';
import type { z } from 'zod';
import type { item as itemSchema } from '../../../src/contract/items.ts';
import type { job as jobSchema } from '../../../src/contract/jobs.ts';
import { buttonClass } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { inputClass } from '../../components/field.tsx';
import { StatusChip, statusWord } from '../../components/status-chip.tsx';
import { cellText } from '../../lib/cell-text.ts';
import { client } from '../../lib/client.ts';
import { basePath } from '../../lib/server-page.ts';
import { jobRoute } from '../../routes/router.tsx';

type Item = z.infer<typeof itemSchema>;
type Job = z.infer<typeof jobSchema>;

const ROW_PX = 36;
const STATUSES = ['PENDING', 'DONE', 'ERROR', 'NOT_FOUND', 'SKIPPED', 'CANCELLED'];

export function JobItems({ job }: { job: Job }) {
  const { jobId } = job;
  const search = jobRoute.useSearch();
  const navigate = useNavigate({ from: '/jobs/$jobId' });
  const filter = {
    ...(search.statuses && { statuses: search.statuses }),
    ...(search.search && { search: search.search }),
  };
  const pages = useInfiniteQuery({
    queryKey: ['job', jobId, 'items', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listItems(
        { jobId, ...filter, pageSize: 100, ...(pageParam !== undefined && { after: pageParam }) },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const items = pages.data?.pages.flatMap((page) => page.items) ?? [];
  const change = (next: { statuses?: string; search?: string }) =>
    void navigate({
      search: (before) =>
        Object.fromEntries(Object.entries({ ...before, ...next }).filter(([, value]) => value !== '')),
      replace: true,
    });
  const query = new URLSearchParams(filter).toString();
  return (
    <section
      aria-label="Rows"
      className="flex min-h-64 flex-1 flex-col overflow-hidden rounded-lg border border-line bg-surface"
    >
      <div className="flex flex-wrap items-center gap-2 border-b border-line p-2">
        <input
          type="search"
          aria-label="Search rows"
          placeholder="Search rows"
          className={`${inputClass} max-w-56`}
          defaultValue={search.search ?? ''}
          onChange={(event) => change({ search: event.target.value })}
        />
        <select
          aria-label="Status"
          className={`${inputClass} w-auto`}
          value={search.statuses ?? ''}
          onChange={(event) => change({ statuses: event.target.value })}
        >
          <option value="">All statuses</option>
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {statusWord(status)}
            </option>
          ))}
        </select>
        <a
          className={`${buttonClass('plain', 'normal')} ml-auto`}
          href={`${basePath}/api/jobs/${jobId}/export?${query}`}
          download
        >
          <Download size={15} aria-hidden /> Export this view
        </a>
      </div>
      {pages.isSuccess && items.length === 0 && !pages.hasNextPage ? (
        <EmptyState title="No rows">
          {query === '' ? 'The file is still being read.' : 'No row fits the filter.'}
        </EmptyState>
      ) : (
        <Grid
          job={job}
          items={items}
          hasMore={pages.hasNextPage}
          isLoading={pages.isFetching}
          loadMore={() => void pages.fetchNextPage()}
        />
      )}
    </section>
  );
}

interface GridProps {
  job: Job;
  items: readonly Item[];
  hasMore: boolean;
  isLoading: boolean;
  loadMore: () => void;
}

function Grid({ job, items, hasMore, isLoading, loadMore }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 20,
  });
  const seen = rows.getVirtualItems();
  const lastSeen = seen.at(-1)?.index ?? -1;
  useEffect(() => {
    if (hasMore && !isLoading && lastSeen >= items.length - 30) loadMore();
  }, [hasMore, isLoading, lastSeen, items.length, loadMore]);
  const inputs = job.columns.map(({ key }) => key);
  const results = job.resultColumns;
  const template = `4.5rem 7rem repeat(${inputs.length + results.length + 1}, minmax(9rem, 1fr))`;
  return (
    <div
      ref={scroller}
      className="min-h-0 flex-1 overflow-auto"
      role="table"
      aria-rowcount={job.itemCount}
      tabIndex={0}
      aria-label="Rows of the job"
    >
      <div role="rowgroup" className="sticky top-0 z-10 w-max min-w-full bg-surface">
        <div
          role="row"
          className="grid border-b border-line text-[13px] text-muted"
          style={{ gridTemplateColumns: template }}
        >
          {['#', 'Status', ...inputs, ...results, 'Error'].map((title, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an input and a result may have the same name
            <div key={at} role="columnheader" className="truncate px-2.5 py-2 font-medium" title={title}>
              {title}
            </div>
          ))}
        </div>
      </div>
      <div role="rowgroup" className="relative w-max min-w-full" style={{ height: rows.getTotalSize() }}>
        {seen.map(({ index, start }) => (
          <Row
            key={items[index]!.seq}
            item={items[index]!}
            inputs={inputs}
            results={results}
            template={template}
            top={start}
          />
        ))}
      </div>
      {isLoading && <p className="p-3 text-muted">Loading…</p>}
    </div>
  );
}

interface RowProps {
  item: Item;
  inputs: readonly string[];
  results: readonly string[];
  template: string;
  top: number;
}

function Row({ item, inputs, results, template, top }: RowProps) {
  const cells = [
    ...inputs.map((key) => cellText(item.input, key)),
    ...results.map((key) => cellText(item.result, key)),
    item.error ?? '',
  ];
  return (
    <div
      role="row"
      className="absolute inset-x-0 grid items-center border-b border-line hover:bg-sunken"
      style={{ gridTemplateColumns: template, height: ROW_PX, transform: `translateY(${top}px)` }}
    >
      <div role="rowheader" className="px-2.5 text-muted tabular-nums">
        {item.seq}
      </div>
      <div role="cell" className="px-2.5">
        <StatusChip status={item.status} />
      </div>
      {cells.map((text, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: cells have no names of their own
        <div key={at} role="cell" className="truncate px-2.5" title={text}>
          {text}
        </div>
      ))}
    </div>
  );
}

// Unfinished rows across all jobs.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { RotateCw } from 'lucide-react';
import { useState } from 'react';
import type { z } from 'zod';
import type { pendingItem } from '../../../src/contract/items.ts';
import { Button } from '../../components/button.tsx';
import { checkBoxClass } from '../../components/check-field.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { ShowMore } from '../../components/show-more.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { cellClass, rowClass, Table } from '../../components/table.tsx';
import { client } from '../../lib/client.ts';
import { useConfiguration } from '../../lib/configuration.ts';
import { formatCount, formatPercent } from '../../lib/format.ts';
import { usePermission } from '../../lib/permission.ts';
import { retryRowsNow } from '../../lib/retry-now.ts';
import { timeRange } from '../../lib/time-range.ts';
import { pendingRoute } from '../../routes/router.tsx';
import { PendingFilters, type PendingSearch } from './pending-filters.tsx';

type PendingItem = z.infer<typeof pendingItem>;

export function PendingScreen() {
  const search = pendingRoute.useSearch();
  const navigate = useNavigate({ from: '/pending' });
  const configuration = useConfiguration();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const canRetry = usePermission().can('retryPending');
  const isOn = configuration.data?.features.pendingDashboard === true;
  const rows = useInfiniteQuery({
    queryKey: ['pending', search],
    enabled: isOn,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listPending(
        {
          ...(search.statuses && { statuses: search.statuses }),
          ...(search.jobType && { jobType: search.jobType }),
          ...(search.jobId && { jobId: search.jobId }),
          ...timeRange(search.from, search.to),
          ...(search.all && { userId: 'all' as const }),
          ...(pageParam !== undefined && { after: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  if (configuration.isSuccess && !isOn)
    return (
      <EmptyState isScreen title="This page is disabled on this server">
        The setting <code>pendingDashboard</code> enables it. Unfinished rows of a job are listed on its own
        page.
      </EmptyState>
    );
  const listed = rows.data?.pages.flatMap((page) => page.items) ?? [];
  // Rows that were retried meanwhile drop out of the selection.
  const waiting = listed.filter((row) => row.status === 'RETRYING' && chosen.has(keyOf(row)));
  const retry = async () => {
    await retryRowsNow(waiting);
    setChosen(new Set());
  };
  const choose = (row: PendingItem, isOn: boolean) =>
    setChosen((before) => {
      const next = new Set(before);
      if (isOn) next.add(keyOf(row));
      else next.delete(keyOf(row));
      return next;
    });
  const change = (next: Partial<PendingSearch>) =>
    void navigate({ search: (before) => clean({ ...before, ...next }), replace: true });
  return (
    <Page
      title="In progress"
      intro="Unfinished rows across all jobs"
      actions={
        <>
          {canRetry && (
            <Button
              disabled={waiting.length === 0}
              title="Select rows that are waiting to retry"
              onClick={() => void retry()}
            >
              Retry {waiting.length > 0 ? `${formatCount(waiting.length)} ` : ''}now
            </Button>
          )}
          <Button disabled={rows.isFetching} onClick={() => void rows.refetch()}>
            <RotateCw size={16} aria-hidden /> Refresh
          </Button>
        </>
      }
    >
      <PendingFilters search={search} onChange={change} />
      {rows.isError && <FailureNote error={rows.error} />}
      {rows.isPending && <Loading />}
      {rows.isSuccess &&
        (listed.length === 0 ? (
          <EmptyState title="Nothing in progress">
            {Object.keys(search).length > 0 ? 'Try different filters.' : 'Everything is finished.'}
          </EmptyState>
        ) : (
          <Table
            label="Unfinished rows"
            headings={[
              SELECTED,
              'Row',
              'Summary',
              'Status',
              'Attempts',
              'Worker',
              'Updated',
              'Pipeline',
              'Job',
            ]}
          >
            {listed.map((row) => (
              <PendingRow
                key={keyOf(row)}
                row={row}
                isChosen={chosen.has(keyOf(row))}
                onChoose={canRetry ? (isChosen) => choose(row, isChosen) : null}
              />
            ))}
          </Table>
        ))}
      <ShowMore of={rows} byScrolling />
    </Page>
  );
}

const SELECTED = <span className="sr-only">Selected</span>;

function keyOf({ jobId, seq }: PendingItem): string {
  return `${jobId} ${seq}`;
}

interface PendingRowProps {
  row: PendingItem;
  isChosen: boolean;
  /** Null: the row cannot be selected. */
  onChoose: ((isChosen: boolean) => void) | null;
}

function PendingRow({ row, isChosen, onChoose }: PendingRowProps) {
  return (
    <tr className={rowClass}>
      <td className={`${cellClass} pr-0`}>
        {onChoose && row.status === 'RETRYING' && (
          <input
            type="checkbox"
            aria-label={`Select row ${row.row} of ${row.jobName || row.jobId.slice(0, 8)}`}
            className={checkBoxClass}
            checked={isChosen}
            onChange={(event) => onChoose(event.target.checked)}
          />
        )}
      </td>
      <th scope="row" className={`${cellClass} font-normal tabular-nums`}>
        {formatCount(row.row)}
      </th>
      <td className={`${cellClass} max-w-64 truncate`} title={row.summary ?? ''}>
        {row.summary}
      </td>
      <td className={cellClass}>
        <StatusChip status={row.status} />
        {row.status === 'RETRYING' && row.readyAt && (
          <span className="block text-[13px] text-muted">
            retrying <RelativeTime at={row.readyAt} />
          </span>
        )}
      </td>
      <td className={`${cellClass} tabular-nums`}>{formatCount(row.attempts)}</td>
      <td className={`${cellClass} max-w-40 truncate text-muted`} title={row.lockedBy ?? ''}>
        {row.lockedBy}
      </td>
      <td className={`${cellClass} text-muted`}>
        <RelativeTime at={row.updatedAt} />
      </td>
      <td className={`${cellClass} text-muted`}>{row.jobType}</td>
      <td className={`${cellClass} min-w-40`}>
        <Link
          to="/jobs/$jobId"
          params={{ jobId: row.jobId }}
          className="block max-w-48 truncate font-medium hover:underline"
        >
          {row.jobName || row.jobId.slice(0, 8)}
        </Link>
        <ProgressPill part={row.progress} />
      </td>
    </tr>
  );
}

function ProgressPill({ part }: { part: number }) {
  return (
    <span className="flex items-center gap-2 text-[13px] text-muted tabular-nums">
      <span aria-hidden className="h-1.5 w-20 overflow-hidden rounded-full bg-quiet-soft">
        <span className="block h-full bg-good" style={{ width: `${part * 100}%` }} />
      </span>
      {formatPercent(part)}
    </span>
  );
}

function clean<T extends object>(search: T): T {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== undefined && value !== '' && value !== false),
  ) as T;
}

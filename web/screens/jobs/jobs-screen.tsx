// The list of jobs, newest first, live.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import type { z } from 'zod';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import type { listedJob } from '../../../src/contract/jobs.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { inputClass } from '../../components/field.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StatusChip, statusWord } from '../../components/status-chip.tsx';
import { client } from '../../lib/client.ts';
import { formatCount, formatRate } from '../../lib/format.ts';
import { useProgress } from '../../lib/live.ts';
import { useSession } from '../../lib/session.ts';
import { jobsRoute } from '../../routes/router.tsx';

type ListedJob = z.infer<typeof listedJob>;

const STATE_FILTERS = [
  ['', 'All states'],
  ['INGESTING,QUEUED,RUNNING,FINALIZING,CANCELLING', 'Under way'],
  ['PAUSED', 'Paused'],
  ['DONE', 'Done'],
  ['FAILED', 'Failed'],
  ['CANCELLED', 'Cancelled'],
] as const;

export function JobsScreen() {
  const search = jobsRoute.useSearch();
  const navigate = useNavigate({ from: '/jobs' });
  const session = useSession();
  const change = (next: Partial<typeof search>) =>
    void navigate({ search: (before) => clean({ ...before, ...next }), replace: true });
  const jobs = useInfiniteQuery({
    queryKey: ['jobs', search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listJobs(
        {
          ...(search.states && { states: search.states }),
          ...(search.search && { search: search.search }),
          ...(search.all && { all: 'true' as const }),
          ...(pageParam !== undefined && { after: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const listed = jobs.data?.pages.flatMap((page) => page.items) ?? [];
  const isFiltered = Boolean(search.states ?? search.search);
  return (
    <div className="mx-auto flex max-w-6xl flex-col gap-4 p-4 md:p-6">
      <h1 className="text-xl font-semibold">Jobs</h1>
      <div className="flex flex-wrap items-center gap-2">
        <input
          type="search"
          aria-label="Search jobs by name or id"
          placeholder="Search by name or id"
          className={`${inputClass} max-w-64`}
          defaultValue={search.search ?? ''}
          onChange={(event) => change({ search: event.target.value })}
        />
        <select
          aria-label="State"
          className={`${inputClass} w-auto`}
          value={search.states ?? ''}
          onChange={(event) => change({ states: event.target.value })}
        >
          {STATE_FILTERS.map(([states, words]) => (
            <option key={states} value={states}>
              {words}
            </option>
          ))}
        </select>
        {session.data?.role === 'admin' && session.data.via !== 'none' && (
          <label className="flex items-center gap-1.5 px-1">
            <input
              type="checkbox"
              checked={search.all ?? false}
              onChange={(event) => change({ all: event.target.checked })}
            />
            Of everybody
          </label>
        )}
      </div>
      {jobs.isError && (
        <p role="alert" className="text-bad">
          {jobs.error.message}
        </p>
      )}
      {jobs.isSuccess && listed.length === 0 ? (
        <NoJobs isFiltered={isFiltered} />
      ) : (
        <JobTable jobs={listed} />
      )}
      {jobs.hasNextPage && (
        <Button
          className="self-center"
          disabled={jobs.isFetchingNextPage}
          onClick={() => void jobs.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </div>
  );
}

function clean<T extends object>(search: T): T {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== '' && value !== false),
  ) as T;
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <EmptyState title="No job fits">Change the search or the state above.</EmptyState>;
  return (
    <EmptyState title="No jobs yet">
      <p>A job is a file of rows and a pipeline that runs over each of them. Make the first one:</p>
      <pre className="mt-3 overflow-x-auto rounded-md bg-sunken p-3 text-left font-mono text-xs">
        rowmill submit products.csv --pipeline price-lookup --follow
      </pre>
    </EmptyState>
  );
}

function JobTable({ jobs }: { jobs: readonly ListedJob[] }) {
  return (
    <div className="overflow-x-auto rounded-lg border border-line bg-surface">
      <table className="w-full text-left">
        <thead className="border-b border-line text-[13px] text-muted">
          <tr>
            {['Name', 'State', 'Progress', 'Rows', 'Rate', 'Owner', 'Made'].map((title) => (
              <th key={title} scope="col" className="px-3 py-2 font-medium whitespace-nowrap">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {jobs.map((job) => (
            <JobRow key={job.jobId} job={job} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function JobRow({ job }: { job: ListedJob }) {
  const [latest, setLatest] = useState<ProgressEvent | null>(null);
  useProgress(useCallback((event) => event.jobId === job.jobId && setLatest(event), [job.jobId]));
  const { counts, itemCount, perSecond, state } = latest ?? job;
  return (
    <tr className="border-b border-line last:border-0 hover:bg-sunken">
      <th scope="row" className="max-w-72 px-3 py-2.5 text-left font-normal">
        <Link
          to="/jobs/$jobId"
          params={{ jobId: job.jobId }}
          className="block truncate font-medium hover:underline"
        >
          {job.name || job.jobId.slice(0, 8)}
        </Link>
        <span className="text-[13px] text-muted">{job.pipeline}</span>
      </th>
      <td className="px-3">
        <StatusChip status={state} />
        {job.pausedBecause && <p className="text-[13px] text-muted">{job.pausedBecause}</p>}
      </td>
      <td className="w-48 min-w-32 px-3">
        <ProgressBar counts={counts} total={itemCount} />
        <span className="text-[13px] text-muted">{failedWords(counts)}</span>
      </td>
      <td className="px-3 tabular-nums">{formatCount(itemCount)}</td>
      <td className="px-3 tabular-nums">{perSecond > 0 ? formatRate(perSecond) : ''}</td>
      <td className="max-w-32 truncate px-3 text-muted">{job.ownerId}</td>
      <td className="px-3 text-muted">
        <RelativeTime at={job.createdAt} />
      </td>
    </tr>
  );
}

function failedWords(counts: Partial<Record<string, number>>): string {
  return ['ERROR', 'NOT_FOUND']
    .filter((status) => (counts[status] ?? 0) > 0)
    .map((status) => `${formatCount(counts[status]!)} ${statusWord(status).toLowerCase()}`)
    .join(', ');
}

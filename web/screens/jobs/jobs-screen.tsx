// The list of jobs, newest first, live.
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Plus, X } from 'lucide-react';
import { useCallback, useState } from 'react';
import { Button, buttonClass } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { inputClass } from '../../components/field.tsx';
import { Loading } from '../../components/loading.tsx';
import { Page } from '../../components/page.tsx';
import { SearchBox } from '../../components/search-box.tsx';
import { ShowMore } from '../../components/show-more.tsx';
import { Stale } from '../../components/stale.tsx';
import { classNames } from '../../lib/class-names.ts';
import { client } from '../../lib/client.ts';
import { ACTIVE_STATES } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import { jobsRoute } from '../../routes/router.tsx';
import { BulkBar } from './bulk-bar.tsx';
import { FirstSteps } from './first-steps.tsx';
import { JobTable } from './job-table.tsx';
import { needTitle } from './need-words.ts';

const STATE_FILTERS = [
  ['', 'All'],
  [ACTIVE_STATES, 'Active'],
  ['PAUSED', 'Paused'],
  ['DONE', 'Done'],
  ['FAILED', 'Failed'],
  ['CANCELLED', 'Cancelled'],
] as const;

export function JobsScreen() {
  const search = jobsRoute.useSearch();
  const navigate = useNavigate({ from: '/jobs' });
  const { can, seesAll } = usePermission();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const change = useCallback(
    (next: { [Key in keyof typeof search]?: (typeof search)[Key] | undefined }) =>
      void navigate({ search: (before) => clean({ ...before, ...next }), replace: true }),
    [navigate],
  );
  const jobs = useInfiniteQuery({
    queryKey: ['jobs', search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      client.listJobs(
        {
          ...(search.states && { states: search.states }),
          ...(search.search && { search: search.search }),
          ...(search.needs && { needs: search.needs }),
          ...(search.pipeline && { pipeline: search.pipeline }),
          ...(search.all && { all: 'true' as const }),
          ...(pageParam !== undefined && { after: pageParam }),
        },
        { signal },
      ),
    getNextPageParam: (page) => page.next ?? undefined,
  });
  const listed = jobs.data?.pages.flatMap((page) => page.items) ?? [];
  const chosen = listed.filter(({ jobId }) => selected.has(jobId));
  const isFiltered = Boolean(search.states ?? search.search ?? search.needs ?? search.pipeline);
  const canCreate = can('createJob');
  const canControl = can('pauseJob', 'resumeJob', 'cancelJob');
  const select = (jobIds: readonly string[], isSelected: boolean) => {
    const next = new Set(selected);
    for (const jobId of jobIds) isSelected ? next.add(jobId) : next.delete(jobId);
    setSelected(next);
  };
  return (
    <Page title="Jobs" actions={canCreate && <NewJobLink />}>
      <div className="flex flex-wrap items-center gap-2">
        <SearchBox
          label="Search jobs"
          value={search.search ?? ''}
          onChange={useCallback((text) => change({ search: text }), [change])}
        />
        <select
          aria-label="State"
          className={classNames(inputClass, 'w-auto')}
          value={search.states ?? ''}
          onChange={(event) => change({ states: event.target.value })}
        >
          {STATE_FILTERS.map(([states, words]) => (
            <option key={states} value={states}>
              {words}
            </option>
          ))}
        </select>
        {search.needs && (
          <Filter words={needTitle(search.needs)} onClear={() => change({ needs: undefined })} />
        )}
        {search.pipeline && (
          <Filter words={`Pipeline ${search.pipeline}`} onClear={() => change({ pipeline: undefined })} />
        )}
        {seesAll && (
          <CheckField
            className="px-1"
            label="Show everyone's jobs"
            checked={search.all ?? false}
            onChange={(event) => change({ all: event.target.checked })}
          />
        )}
      </div>
      {chosen.length > 0 && <BulkBar jobs={chosen} onClear={() => setSelected(new Set())} />}
      {jobs.isSuccess && canCreate && !isFiltered && <FirstSteps jobs={listed} />}
      {jobs.isError && <FailureNote error={jobs.error} />}
      {jobs.isPending && <Loading />}
      {jobs.isSuccess &&
        (listed.length === 0 ? (
          <NoJobs isFiltered={isFiltered} canCreate={canCreate} />
        ) : (
          <Stale atMs={jobs.dataUpdatedAt}>
            <JobTable jobs={listed} selected={canControl ? selected : null} onSelect={select} />
          </Stale>
        ))}
      <ShowMore of={jobs} />
    </Page>
  );
}

/** A filter that another screen set. */
function Filter({ words, onClear }: { words: string; onClear: () => void }) {
  return (
    <Button onClick={onClear} aria-label={`Remove filter: ${words}`}>
      {words} <X size={14} aria-hidden />
    </Button>
  );
}

function NewJobLink() {
  return (
    <Link to="/jobs/new" className={buttonClass('primary', 'normal')}>
      <Plus size={16} aria-hidden /> New job
    </Link>
  );
}

function clean<T extends object>(search: T): T {
  return Object.fromEntries(
    Object.entries(search).filter(([, value]) => value !== '' && value !== false && value !== undefined),
  ) as T;
}

function NoJobs({ isFiltered, canCreate }: { isFiltered: boolean; canCreate: boolean }) {
  if (isFiltered) return <EmptyState title="No matching jobs">Try a different search or filter.</EmptyState>;
  return (
    <EmptyState title="No jobs yet" {...(canCreate && { action: <NewJobLink /> })}>
      <p>
        Upload a file, choose what to run on each row, and watch the results come in. You can fix and rerun
        failed rows.
      </p>
      <p className="mt-3">Or from the command line:</p>
      <pre className="mt-1 rounded-md bg-sunken p-3 text-left font-mono text-xs break-words whitespace-pre-wrap">
        rowmill submit price-lookup products.csv --follow
      </pre>
    </EmptyState>
  );
}

// One job: how far it is, what holds it back, its rows, and everything that belongs to it.
import { useQuery } from '@tanstack/react-query';
import { ChevronDown, ChevronUp } from 'lucide-react';
import { useCallback, useRef, useState } from 'react';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import { Button } from '../../components/button.tsx';
import { client, queries } from '../../lib/client.ts';
import { useProgress } from '../../lib/live.ts';
import { jobRoute } from '../../routes/router.tsx';
import { FailedScreen } from '../failed-screen.tsx';
import { ItemDrawer } from './item-drawer.tsx';
import { JobCharts } from './job-charts.tsx';
import { JobHeader } from './job-header.tsx';
import { JobLimits } from './job-limits.tsx';
import { JobProgress } from './job-progress.tsx';
import { JobTabs } from './job-tabs.tsx';
import { PhaseFunnel } from './phase-funnel.tsx';
import { useJobChange } from './use-job-change.ts';
import { useJobSearch } from './use-job-search.ts';

/** Counts come with the events; the rest of the job is fetched this often while they do. */
const REFRESH_MS = 4000;

export function JobScreen() {
  const { jobId } = jobRoute.useParams();
  // Another job is another screen: nothing of the one before stays.
  return <OneJob key={jobId} jobId={jobId} />;
}

function OneJob({ jobId }: { jobId: string }) {
  const [search, change] = useJobSearch();
  const job = useQuery({
    queryKey: ['job', jobId],
    queryFn: ({ signal }) => client.getJob({ jobId }, { signal }),
  });
  const wasFinished = useRef<boolean | null>(null);
  const [latest, setLatest] = useState<{ event: ProgressEvent; atMs: number } | null>(null);
  useProgress(
    useCallback((event) => event.jobId === jobId && setLatest({ event, atMs: Date.now() }), [jobId]),
  );
  useJobChange(jobId, REFRESH_MS, () => {
    void queries.invalidateQueries({ queryKey: ['job', jobId], exact: true });
  });
  if (!job.data) {
    if (job.isError) return <FailedScreen error={job.error} />;
    return <p className="p-6 text-muted">Loading…</p>;
  }
  // Whichever is newer: an event, or the job as it was fetched.
  const live = latest && latest.atMs >= job.dataUpdatedAt ? latest.event : job.data;
  // Who comes to a job that has ended comes for its rows.
  const hasOverview = search.overview ?? !(wasFinished.current ??= job.data.finishedAt !== null);
  return (
    <div className="flex min-h-dvh flex-col gap-4 p-4 md:p-6">
      <title>{`${job.data.name || 'Job'} · Rowmill`}</title>
      <JobHeader job={job.data} state={live.state} />
      <JobProgress job={job.data} live={live} />
      <div className="no-print -my-2 flex">
        <Button
          kind="quiet"
          size="small"
          aria-expanded={hasOverview}
          onClick={() => change({ overview: !hasOverview })}
        >
          {hasOverview ? <ChevronUp size={15} aria-hidden /> : <ChevronDown size={15} aria-hidden />}
          {hasOverview ? 'Hide charts and limits' : 'Show charts and limits'}
        </Button>
      </div>
      {hasOverview && (
        <div className="grid gap-4 md:grid-cols-2 lg:grid-cols-3 2xl:grid-cols-4">
          <PhaseFunnel job={job.data} />
          <JobCharts jobId={jobId} />
          <JobLimits job={job.data} />
        </div>
      )}
      <JobTabs job={job.data} live={live} />
      <ItemDrawer job={job.data} />
    </div>
  );
}

// The screen of one job: progress, charts and limits, and its tabs.
import { useQuery } from '@tanstack/react-query';
import { ChevronDown, ChevronUp } from 'lucide-react';
import { lazy, memo, startTransition, useCallback, useDeferredValue, useMemo, useState } from 'react';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import { Button } from '../../components/button.tsx';
import { OnceOpen } from '../../components/once-open.tsx';
import { client, queries } from '../../lib/client.ts';
import { fetchPart } from '../../lib/fetch-part.ts';
import { useProgress } from '../../lib/live.ts';
import { jobRoute } from '../../routes/router.tsx';
import { FailedScreen } from '../failed-screen.tsx';
import { JobCharts } from './job-charts.tsx';
import { JobHeader } from './job-header.tsx';
import { JobLimits } from './job-limits.tsx';
import { JobProgress, type JobProgressProps } from './job-progress.tsx';
import { hasResult, JobResult } from './job-result.tsx';
import { JobTabs } from './job-tabs.tsx';
import { PhaseFunnel } from './phase-funnel.tsx';
import { useJobChange } from './use-job-change.ts';
import { useJobSearch } from './use-job-search.ts';

const ItemDrawer = lazy(() =>
  fetchPart(() => import('./item-drawer.tsx')).then((module) => ({ default: module.ItemDrawer })),
);

/** Events carry the counts; the rest of the job is refetched this often. */
const REFRESH_MS = 4000;

export function JobScreen() {
  const { jobId } = jobRoute.useParams();
  // The key resets all state when the job changes.
  return <OneJob key={jobId} jobId={jobId} />;
}

function OneJob({ jobId }: { jobId: string }) {
  const job = useQuery({
    queryKey: ['job', jobId],
    queryFn: ({ signal }) => client.getJob({ jobId }, { signal }),
  });
  const [latest, setLatest] = useState<{ event: ProgressEvent; atMs: number } | null>(null);
  useProgress(
    useCallback(
      (event) => {
        if (event.jobId === jobId) startTransition(() => setLatest({ event, atMs: Date.now() }));
      },
      [jobId],
    ),
  );
  useJobChange(jobId, REFRESH_MS, () => {
    void queries.invalidateQueries({ queryKey: ['job', jobId], exact: true });
  });
  const { data, dataUpdatedAt } = job;
  // New data renders in small steps, so the page stays responsive.
  const known = useDeferredValue(
    useMemo(() => {
      if (!data) return null;
      // An event or the fetched job, whichever is newer.
      const isEvent = latest !== null && latest.atMs >= dataUpdatedAt;
      return {
        job: data,
        live: isEvent ? latest.event : data,
        asOfMs: Math.max(dataUpdatedAt, latest?.atMs ?? 0),
      };
    }, [data, dataUpdatedAt, latest]),
  );
  if (known) return <KnownJob {...known} />;
  if (job.isError) return <FailedScreen error={job.error} />;
  return <JobSkeleton />;
}

/** The shape of the screen until the job is known. */
function JobSkeleton() {
  return (
    <div role="status" aria-label="Loading the job" className="flex min-h-dvh flex-col gap-4 p-4 md:p-6">
      <div className="h-8 w-64 animate-pulse rounded bg-quiet-soft" />
      <div className="h-40 animate-pulse rounded-lg bg-quiet-soft" />
      <div className="h-9 animate-pulse rounded bg-quiet-soft" />
      <div className="h-96 animate-pulse rounded-lg bg-quiet-soft" />
    </div>
  );
}

const KnownJob = memo(function KnownJob({ job, live, asOfMs }: JobProgressProps) {
  const [search, change] = useJobSearch();
  // Finished jobs open with their rows; charts are collapsed.
  const [wasRunning] = useState(job.finishedAt === null);
  const hasOverview = search.overview ?? wasRunning;
  const isFinished = hasResult(job, live.state);
  // Name and progress render first.
  const isFirstDrawn = useDeferredValue(true, false);
  return (
    <div className="flex min-h-dvh flex-col gap-4 p-4 md:p-6">
      <title>{`${job.name || 'Job'} · Rowmill`}</title>
      <JobHeader job={job} state={live.state} />
      {isFinished ? (
        <JobResult job={job} live={live} />
      ) : (
        <JobProgress job={job} live={live} asOfMs={asOfMs} />
      )}
      <div className="no-print -my-2 flex">
        <Button
          kind="quiet"
          size="small"
          aria-expanded={hasOverview}
          onClick={() => change({ overview: !hasOverview })}
        >
          {hasOverview ? <ChevronUp size={15} aria-hidden /> : <ChevronDown size={15} aria-hidden />}
          {hasOverview ? 'Hide details' : 'Show details'}
        </Button>
      </div>
      {hasOverview && isFinished && <JobProgress job={job} live={live} asOfMs={asOfMs} isBelowResult />}
      {hasOverview && isFirstDrawn && (
        <div className="grid gap-4 md:grid-cols-2 lg:grid-cols-3 2xl:grid-cols-4">
          <PhaseFunnel job={job} />
          <JobCharts jobId={job.jobId} />
          <JobLimits job={job} />
        </div>
      )}
      {isFirstDrawn && <JobTabs job={job} live={live} />}
      <OnceOpen open={search.row !== undefined}>
        <ItemDrawer job={job} />
      </OnceOpen>
    </div>
  );
});

// One job: how far it is, what it does, and its rows.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Pause, Play, X } from 'lucide-react';
import { useCallback, useState } from 'react';
import type { z } from 'zod';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import type { job as jobSchema } from '../../../src/contract/jobs.ts';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { StatusChip, statusWord } from '../../components/status-chip.tsx';
import { say, sayError } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatCount, formatRate } from '../../lib/format.ts';
import { useProgress } from '../../lib/live.ts';
import { jobRoute } from '../../routes/router.tsx';
import { FailedScreen } from '../failed-screen.tsx';
import { JobItems } from './job-items.tsx';

type Job = z.infer<typeof jobSchema>;

export function JobScreen() {
  const { jobId } = jobRoute.useParams();
  const job = useQuery({
    queryKey: ['job', jobId],
    queryFn: ({ signal }) => client.getJob({ jobId }, { signal }),
  });
  const [latest, setLatest] = useState<ProgressEvent | null>(null);
  useProgress(useCallback((event) => event.jobId === jobId && setLatest(event), [jobId]));
  if (job.isError) return <FailedScreen error={job.error} />;
  if (!job.data) return <p className="p-6 text-muted">Loading…</p>;
  const { counts, itemCount, perSecond, state } =
    latest && latest.generation >= job.data.generation ? latest : job.data;
  return (
    <div className="flex h-dvh flex-col gap-4 p-4 md:p-6">
      <header className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1">
          <p className="text-[13px] text-muted">
            <Link to="/jobs" className="hover:underline">
              Jobs
            </Link>{' '}
            / {job.data.pipeline}
          </p>
          <h1 className="truncate text-xl font-semibold">{job.data.name || jobId}</h1>
        </div>
        <Controls job={job.data} state={state} />
      </header>
      <section
        aria-label="Progress"
        className="flex flex-col gap-2 rounded-lg border border-line bg-surface p-4"
      >
        <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
          <StatusChip status={state} />
          <span className="tabular-nums">{formatCount(itemCount)} rows</span>
          {perSecond > 0 && <span className="tabular-nums">{formatRate(perSecond)}</span>}
          {job.data.eta && (
            <span title={job.data.eta.basis}>
              done <RelativeTime at={job.data.eta.at} />
            </span>
          )}
          {job.data.cost > 0 && <span className="tabular-nums">cost {job.data.cost}</span>}
          <span className="ml-auto text-muted">
            made <RelativeTime at={job.data.createdAt} />
          </span>
        </div>
        <ProgressBar counts={counts} total={itemCount} className="h-3" />
        <ul className="flex flex-wrap gap-x-4 text-[13px] text-muted">
          {Object.entries(counts)
            .filter(([, count]) => (count ?? 0) > 0)
            .map(([status, count]) => (
              <li key={status} className="tabular-nums">
                {statusWord(status)} {formatCount(count ?? 0)}
              </li>
            ))}
        </ul>
        {(job.data.pausedBecause ?? job.data.blockedBecause ?? job.data.lastError) && (
          <p role="status" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
            {job.data.pausedBecause ?? job.data.blockedBecause ?? job.data.lastError}
          </p>
        )}
      </section>
      <JobItems job={job.data} />
    </div>
  );
}

function Controls({ job, state }: { job: Job; state: string }) {
  const [isCancelling, setCancelling] = useState(false);
  const { jobId } = job;
  const act = async (done: string, action: () => Promise<unknown>, undo?: () => void) => {
    try {
      await action();
      say(done, undo ? { undo } : {});
    } catch (error) {
      sayError(error);
    }
    await queries.invalidateQueries({ queryKey: ['job', jobId] });
  };
  const resume = () => void act('The job goes on', () => client.resumeJob({ jobId }));
  const isOpen = ['INGESTING', 'QUEUED', 'RUNNING'].includes(state);
  return (
    <div className="flex gap-2">
      {isOpen && (
        <Button onClick={() => void act('The job is paused', () => client.pauseJob({ jobId }), resume)}>
          <Pause size={15} aria-hidden /> Pause
        </Button>
      )}
      {(state === 'PAUSED' || job.held > 0) && (
        <Button kind="primary" onClick={resume}>
          <Play size={15} aria-hidden />{' '}
          {state === 'PAUSED' ? 'Resume' : `Run the other ${formatCount(job.held)} rows`}
        </Button>
      )}
      {(isOpen || state === 'PAUSED') && (
        <Button kind="danger" onClick={() => setCancelling(true)}>
          <X size={15} aria-hidden /> Cancel
        </Button>
      )}
      <Confirm
        open={isCancelling}
        onClose={() => setCancelling(false)}
        title="Cancel this job?"
        action="Cancel the job"
        danger
        onConfirm={() => act('The job is being cancelled', () => client.cancelJob({ jobId }))}
      >
        Rows without a result end as cancelled. Results so far stay, and the others can be run again later.
      </Confirm>
    </div>
  );
}

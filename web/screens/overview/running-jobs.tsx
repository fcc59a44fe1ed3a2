// Active jobs with live progress, rate and expected finish.
import { Link } from '@tanstack/react-router';
import { useCallback, useState } from 'react';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { StatusChip } from '../../components/status-chip.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatRate, formatTimeLeft } from '../../lib/format.ts';
import { ACTIVE_STATES } from '../../lib/job.ts';
import { useProgress } from '../../lib/live.ts';
import type { Overview } from './overview-screen.tsx';

type RunningJob = Overview['running'][number];

export function RunningJobs({ jobs, all }: { jobs: readonly RunningJob[]; all: boolean | undefined }) {
  return (
    <section
      aria-labelledby="running"
      className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-3">
        <h2 id="running" className="font-semibold">
          Running now
        </h2>
        <Link
          to="/jobs"
          search={{ states: ACTIVE_STATES, ...(all && { all }) }}
          className="text-[13px] text-accent hover:underline"
        >
          All active jobs
        </Link>
      </div>
      {jobs.length === 0 ? (
        <p className="text-muted">No job is running.</p>
      ) : (
        <ul className="flex flex-col">
          {jobs.map((job) => (
            <RunningRow key={job.jobId} job={job} />
          ))}
        </ul>
      )}
    </section>
  );
}

function RunningRow({ job }: { job: RunningJob }) {
  // An event is valid until the overview is refetched, which includes it.
  const [latest, setLatest] = useState<{ event: ProgressEvent; job: RunningJob } | null>(null);
  useProgress(useCallback((event) => event.jobId === job.jobId && setLatest({ event, job }), [job]));
  const { counts, itemCount, perSecond, state, eta, etaUnknownBecause, cost } =
    latest?.job === job ? latest.event : job;
  return (
    <li className="grid grid-cols-2 items-center gap-x-4 gap-y-1 border-t border-line py-2.5 first:border-0 md:grid-cols-[minmax(0,2fr)_6rem_minmax(0,2fr)_5rem_9rem_6rem]">
      <div className="min-w-0">
        <Link
          to="/jobs/$jobId"
          params={{ jobId: job.jobId }}
          className="block truncate font-medium hover:underline"
        >
          {job.name || job.jobId.slice(0, 8)}
        </Link>
        <Link
          to="/pipelines/$name"
          params={{ name: job.pipeline }}
          className="block truncate text-[13px] text-muted hover:underline"
        >
          {job.pipeline}
        </Link>
      </div>
      <div className="justify-self-end md:justify-self-start">
        <StatusChip status={state} />
      </div>
      <div className="col-span-2 md:col-span-1">
        <ProgressBar counts={counts} total={itemCount} />
      </div>
      <span className={classNames('text-[13px] tabular-nums md:text-right')}>
        {perSecond > 0 ? formatRate(perSecond) : '—'}
      </span>
      <span
        className="text-right text-[13px] text-muted tabular-nums"
        {...(etaUnknownBecause !== null && { title: etaUnknownBecause })}
      >
        {eta === null ? 'Finish unknown' : `${timeLeft(eta)} left`}
      </span>
      <span className="hidden text-right text-[13px] text-muted tabular-nums md:block">
        {cost > 0 ? formatCost(cost, job.costUnit) : '—'}
      </span>
    </li>
  );
}

function timeLeft({ low, high }: NonNullable<RunningJob['eta']>): string {
  const now = Date.now();
  return formatTimeLeft(Date.parse(low) - now, high === null ? null : Date.parse(high) - now);
}

// A finished job leads with its result: a sentence, the download, and the way to the rows that failed.
import { Link } from '@tanstack/react-router';
import { Wrench } from 'lucide-react';
import { buttonClass } from '../../components/button.tsx';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatCount } from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';
import { DownloadResults } from './download-results.tsx';
import { JobNotice } from './job-notice.tsx';
import type { JobProgressProps } from './job-progress.tsx';
import { resultWords } from './result-words.ts';

/** Finished, and no later run has started. */
export function hasResult(job: Job, state: string): boolean {
  return job.finishedAt !== null && ['DONE', 'CANCELLED', 'FAILED'].includes(state);
}

const TONES: Record<string, string> = {
  DONE: 'text-good',
  NOT_FOUND: 'text-warn',
  ERROR: 'text-bad',
  SKIPPED: 'text-quiet',
  CANCELLED: 'text-quiet',
};

export function JobResult({ job, live }: Omit<JobProgressProps, 'asOfMs'>) {
  const { jobId } = job;
  const { counts, itemCount } = live;
  const failed = counts.ERROR ?? 0;
  return (
    <section aria-label="Result" className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4">
      <div className="flex flex-col gap-x-6 gap-y-3 sm:flex-row sm:items-start">
        <div className="flex min-w-0 flex-1 flex-col gap-1">
          <Sentence job={job} live={live} />
          <Circumstances job={job} />
        </div>
        <div className="flex flex-wrap items-start gap-2">
          <DownloadResults job={job} />
          {failed > 0 && (
            <Link
              to="/jobs/$jobId"
              params={{ jobId }}
              search={{ tab: 'errors' }}
              className={classNames(buttonClass('plain', 'normal'), 'no-print h-11 px-4')}
            >
              <Wrench size={16} aria-hidden /> Fix {formatCount(failed)}
            </Link>
          )}
        </div>
      </div>
      {itemCount > 0 && <ProgressBar counts={counts} total={itemCount} className="h-2" />}
      <JobNotice job={job} live={live} onBudget={() => {}} />
    </section>
  );
}

function Sentence({ job, live: { counts, cost } }: Omit<JobProgressProps, 'asOfMs'>) {
  const { parts, effort } = resultWords(counts, cost, job.runMs, job.costUnit);
  if (parts.length === 0) return <p className="text-xl font-semibold">No rows</p>;
  return (
    <p className="text-xl leading-snug font-semibold tabular-nums sm:text-2xl">
      {parts.map(({ status, text }, at) => (
        <span key={status}>
          {at > 0 && ', '}
          <Link
            to="/jobs/$jobId"
            params={{ jobId: job.jobId }}
            search={{ statuses: status }}
            className={classNames('underline underline-offset-4 hover:no-underline', TONES[status])}
          >
            {text}
          </Link>
        </span>
      ))}
      {effort !== '' && `, ${effort}`}
    </p>
  );
}

function Circumstances({ job }: { job: Job }) {
  const rejected = job.ingestReport.rejected ?? 0;
  return (
    <p className="flex flex-wrap gap-x-3 text-[13px] text-muted tabular-nums">
      {job.finishedAt !== null && (
        <span>
          Finished <RelativeTime at={job.finishedAt} />
        </span>
      )}
      {job.retention.expiresAt !== null && (
        <span>
          Deleted <RelativeTime at={job.retention.expiresAt} />
        </span>
      )}
      {job.generation > 1 && <span>{formatCount(job.generation)} runs</span>}
      {rejected > 0 && (
        <Link
          to="/jobs/$jobId"
          params={{ jobId: job.jobId }}
          search={{ tab: 'rejected' }}
          className="hover:text-text hover:underline"
        >
          {formatCount(rejected)} {rejected === 1 ? 'line' : 'lines'} couldn't be read
        </Link>
      )}
    </p>
  );
}

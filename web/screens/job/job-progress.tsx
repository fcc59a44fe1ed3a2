// How far the job is, how fast it goes, when it will be done and what was paid; what keeps it from going on.
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { statusWord } from '../../components/status-chip.tsx';
import { formatCost, formatCount, formatDuration, formatPercent, formatRate } from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';

export interface JobProgressProps {
  job: Job;
  /** What came in since. */
  live: Pick<ProgressEvent, 'counts' | 'itemCount' | 'perSecond' | 'cost' | 'state'>;
}

const SCOPES: Record<string, string> = {
  job: 'of this job',
  owner: 'of its owner',
  day: 'of its owner today',
};
const ENDED = ['DONE', 'SKIPPED', 'NOT_FOUND', 'ERROR', 'CANCELLED'];
const STATUSES = [...ENDED, 'PROCESSING', 'PENDING'];
const DOTS: Record<string, string> = {
  PENDING: 'bg-line',
  DONE: 'bg-good',
  SKIPPED: 'bg-quiet',
  NOT_FOUND: 'bg-warn',
  ERROR: 'bg-bad',
  CANCELLED: 'bg-line',
  PROCESSING: 'bg-info',
};

export function JobProgress({ job, live }: JobProgressProps) {
  const { counts, itemCount, perSecond, cost } = live;
  const ended = ENDED.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  const because = job.pausedBecause ?? job.blockedBecause ?? job.lastError;
  return (
    <section
      aria-label="Progress"
      className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4"
    >
      <dl className="grid grid-cols-2 gap-x-6 gap-y-2 sm:grid-cols-3 lg:grid-cols-5">
        <Fact name="Ended" more={`of ${formatCount(itemCount)} rows${job.sealed ? '' : ' so far'}`}>
          {formatPercent(itemCount === 0 ? 0 : ended / itemCount)}
        </Fact>
        {job.finishedAt === null ? (
          <Fact name="Rate" more="over the last minute">
            {formatRate(perSecond)}
          </Fact>
        ) : (
          <Made job={job} />
        )}
        <Times job={job} />
        <Fact
          name="Cost"
          more={ended > 0 && cost > 0 ? `${formatCost(cost / ended)} a row` : 'as told by the pipeline'}
        >
          {formatCost(cost)}
        </Fact>
        <Budget job={job} />
      </dl>
      <ProgressBar counts={counts} total={itemCount} className="h-3" />
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-[13px]">
        {STATUSES.map((status) => [status, counts[status] ?? 0] as const)
          .filter(([, count]) => count > 0)
          .map(([status, count]) => (
            <li key={status} className="inline-flex items-center gap-1.5 tabular-nums">
              <span aria-hidden className={`size-2 rounded-full ${DOTS[status] ?? 'bg-quiet-soft'}`} />
              {status === 'PENDING' || status === 'PROCESSING' ? (
                <span className="text-muted">
                  {statusWord(status)} {formatCount(count)}
                </span>
              ) : (
                <Link
                  to="/jobs/$jobId"
                  params={{ jobId: job.jobId }}
                  search={{ statuses: status }}
                  className="text-muted hover:text-text hover:underline"
                >
                  {statusWord(status)} {formatCount(count)}
                </Link>
              )}
            </li>
          ))}
        {job.retrying > 0 && (
          <li className="text-muted tabular-nums">
            {formatCount(job.retrying)} wait for a limit or another try
          </li>
        )}
        {job.held > 0 && <li className="text-muted tabular-nums">{formatCount(job.held)} held back</li>}
      </ul>
      {because && (
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2 break-words text-warn">
          {because.charAt(0).toUpperCase() + because.slice(1)}
        </p>
      )}
    </section>
  );
}

function Times({ job }: { job: Job }) {
  if (job.eta)
    return (
      <Fact name="Expected end" more={job.eta.basis}>
        <RelativeTime at={job.eta.at} />
      </Fact>
    );
  if (job.finishedAt)
    return (
      <Fact
        name="Finished"
        more={
          job.startedAt &&
          `after ${formatDuration(new Date(job.finishedAt).getTime() - new Date(job.startedAt).getTime())}`
        }
      >
        <RelativeTime at={job.finishedAt} />
      </Fact>
    );
  return <Made job={job} />;
}

function Made({ job }: { job: Job }) {
  return (
    <Fact name="Made" more={job.createdBy && `by ${job.createdBy}`}>
      <RelativeTime at={job.createdAt} />
    </Fact>
  );
}

function Budget({ job }: { job: Job }) {
  const budgets = job.budgets as { scope: string; max: number; spent: number }[];
  const [tightest] = budgets.toSorted((a, b) => a.max - a.spent - (b.max - b.spent));
  if (!tightest)
    return (
      <Fact name="Budget" more="nothing limits what it costs">
        None
      </Fact>
    );
  return (
    <Fact name="Budget" more={`left of ${formatCost(tightest.max)} ${SCOPES[tightest.scope] ?? ''}`}>
      {formatCost(Math.max(0, tightest.max - tightest.spent))}
    </Fact>
  );
}

function Fact({ name, more, children }: { name: string; more?: ReactNode; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-[13px] text-muted">{name}</dt>
      <dd className="m-0">
        <span className="text-lg font-semibold tabular-nums">{children}</span>
        {more && (
          <span
            className="line-clamp-2 text-[13px] text-muted"
            {...(typeof more === 'string' && { title: more })}
          >
            {more}
          </span>
        )}
      </dd>
    </div>
  );
}

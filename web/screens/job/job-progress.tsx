// Progress, speed, expected finish, cost and budget of a job.
import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { type BudgetScope, unitOfBudget } from '../../../src/core/limits/work-budget.ts';
import type { ProgressEvent } from '../../../src/contract/events.ts';
import { windowWords } from '../../../src/core/jobs/recent-rate.ts';
import { UNFINISHED_PARTS, UNFINISHED_WORDS } from '../../../src/core/jobs/unfinished-rows.ts';
import { ProgressBar } from '../../components/progress-bar.tsx';
import { RelativeTime, useNow } from '../../components/relative-time.tsx';
import { AsOf } from '../../components/stale.tsx';
import { statusWord } from '../../components/status-chip.tsx';
import { classNames } from '../../lib/class-names.ts';
import { fetchPart } from '../../lib/fetch-part.ts';
import {
  formatCount,
  formatDuration,
  formatExact,
  formatPercent,
  formatRate,
  formatTimeLeft,
} from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';
import { useLiveState } from '../../lib/live.ts';
import { usePermission } from '../../lib/permission.ts';
import { JobNotice } from './job-notice.tsx';

const BudgetDialog = lazy(() =>
  fetchPart(() => import('./budget-dialog.tsx')).then((module) => ({ default: module.BudgetDialog })),
);

export interface JobProgressProps {
  job: Job;
  /** The job, or a newer progress event. */
  live: Pick<
    ProgressEvent,
    | 'counts'
    | 'unfinished'
    | 'itemCount'
    | 'perSecond'
    | 'rateWindowMs'
    | 'eta'
    | 'etaUnknownBecause'
    | 'cost'
    | 'state'
  >;
  /** Time at which these numbers arrived. */
  asOfMs: number;
  /** The result above it shows the notice. */
  isBelowResult?: boolean;
}

const SCOPES: Record<string, string> = {
  job: 'this job',
  owner: 'owner',
  day: 'owner, today',
};
const FINISHED = ['DONE', 'SKIPPED', 'NOT_FOUND', 'ERROR', 'CANCELLED'];
const DOTS: Record<string, string> = {
  DONE: 'bg-good',
  SKIPPED: 'bg-quiet',
  NOT_FOUND: 'bg-warn',
  ERROR: 'bg-bad',
  CANCELLED: 'bg-line',
};

export function JobProgress({ job, live, asOfMs, isBelowResult = false }: JobProgressProps) {
  const isStale = useLiveState() === 'lost';
  const { counts, itemCount, perSecond, rateWindowMs, cost, state } = live;
  const { can } = usePermission();
  const [isBudgeting, setBudgeting] = useState(false);
  const rejected = job.ingestReport.rejected ?? 0;
  const leftOut = (job.ingestReport.tooDeep ?? 0) + (job.ingestReport.tooMany ?? 0);
  const finished = FINISHED.reduce((sum, status) => sum + (counts[status] ?? 0), 0);
  return (
    <section
      aria-label="Progress"
      className="flex flex-col gap-3 rounded-lg border border-line bg-surface p-4"
    >
      {isStale && <AsOf atMs={asOfMs} />}
      <dl className={classNames(isStale && 'opacity-60', FACTS)}>
        <Fact
          name="Progress"
          more={`${formatCount(finished)} of ${formatCount(itemCount)} ${itemCount === 1 ? 'row' : 'rows'}${job.sealed || job.finishedAt !== null ? '' : ' (still reading file)'}`}
        >
          {formatPercent(itemCount > 0 ? finished / itemCount : state === 'DONE' ? 1 : 0)}
        </Fact>
        {job.finishedAt === null ? (
          <Fact name="Rate" more={`rows ${windowWords(rateWindowMs)}`}>
            {formatRate(perSecond)}
          </Fact>
        ) : (
          <Created job={job} />
        )}
        <Times job={job} live={live} />
        <Fact
          name="Cost"
          more={
            finished > 0 && cost > 0
              ? `${formatCost(cost / finished, job.costUnit)} per row`
              : 'reported by the pipeline'
          }
        >
          {formatCost(cost, job.costUnit)}
        </Fact>
        <Budget job={job} onChange={can('changeJob') ? () => setBudgeting(true) : null} />
      </dl>
      <ProgressBar counts={counts} total={itemCount} className="h-3" />
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-[13px]">
        {FINISHED.map((status) => [status, counts[status] ?? 0] as const)
          .filter(([, count]) => count > 0)
          .map(([status, count]) => (
            <li key={status} className="inline-flex items-center gap-1.5 tabular-nums">
              <span aria-hidden className={`size-2 rounded-full ${DOTS[status] ?? 'bg-quiet-soft'}`} />
              <Link
                to="/jobs/$jobId"
                params={{ jobId: job.jobId }}
                search={{ statuses: status }}
                className="text-muted hover:text-text hover:underline"
              >
                {statusWord(status)} {formatCount(count)}
              </Link>
            </li>
          ))}
        <Unfinished rows={live.unfinished} reasons={job.waitingBecause} />
        {leftOut > 0 && (
          <li className="text-muted tabular-nums">
            {formatCount(leftOut)} added {leftOut === 1 ? 'row' : 'rows'} skipped (limit reached)
          </li>
        )}
        {rejected > 0 && (
          <li className="tabular-nums">
            <Link
              to="/jobs/$jobId"
              params={{ jobId: job.jobId }}
              search={{ tab: 'rejected' }}
              className="text-muted hover:text-text hover:underline"
            >
              {formatCount(rejected)} {rejected === 1 ? 'line' : 'lines'} couldn't be read
            </Link>
          </li>
        )}
      </ul>
      {!isBelowResult && <JobNotice job={job} live={live} onBudget={() => setBudgeting(true)} />}
      {isBudgeting && (
        <Suspense>
          <BudgetDialog
            job={job}
            state={state}
            spent={spentOf(job, cost)}
            onClose={() => setBudgeting(false)}
          />
        </Suspense>
      )}
    </section>
  );
}

/** Rows without a result, by what they wait for; the parts add up. */
function Unfinished({
  rows,
  reasons,
}: {
  rows: JobProgressProps['live']['unfinished'];
  reasons: Job['waitingBecause'];
}) {
  return UNFINISHED_PARTS.filter((part) => rows[part] > 0).map((part) => (
    <li
      key={part}
      data-part={part}
      className="inline-flex items-center gap-1.5 text-muted tabular-nums"
      {...(rows.reportedAt !== null &&
        (part === 'running' || part === 'queued') && {
          title: `Reported by workers at ${formatExact(rows.reportedAt)}`,
        })}
    >
      <span aria-hidden className={`size-2 rounded-full ${part === 'running' ? 'bg-info' : 'bg-line'}`} />
      <span>
        {formatCount(rows[part])} {UNFINISHED_WORDS[part]}
        {part === 'rateLimit' && reasons[part] !== undefined && ` (${reasons[part]})`}
      </span>
    </li>
  ));
}

const FACTS = 'grid grid-cols-2 gap-x-6 gap-y-2 sm:grid-cols-3 lg:grid-cols-5';

function Times({ job, live: { eta, etaUnknownBecause } }: Pick<JobProgressProps, 'job' | 'live'>) {
  const nowMs = useNow();
  if (eta)
    return (
      <Fact name="Time left" more={eta.basis}>
        {formatTimeLeft(Date.parse(eta.low) - nowMs, eta.high === null ? null : Date.parse(eta.high) - nowMs)}
      </Fact>
    );
  if (etaUnknownBecause !== null && job.finishedAt === null)
    return (
      <Fact name="Time left" more={etaUnknownBecause}>
        Unknown
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
  return <Created job={job} />;
}

function Created({ job }: { job: Job }) {
  return (
    <Fact name="Created" more={job.createdBy && `by ${job.createdBy}`}>
      <RelativeTime at={job.createdAt} />
    </Fact>
  );
}

interface BudgetOf {
  scope: BudgetScope;
  max: number;
  spent: number;
  lost: number;
}

/** Includes the cost of calls whose results were lost. */
function spentOf(job: Job, cost: number): number {
  const own = (job.budgets as unknown as BudgetOf[]).find(({ scope }) => scope === 'job');
  return Math.max(cost, own ? own.spent + own.lost : 0);
}

function Budget({ job, onChange }: { job: Job; onChange: (() => void) | null }) {
  const budgets = job.budgets as unknown as BudgetOf[];
  const left = ({ max, spent, lost }: BudgetOf): number => max - spent - lost;
  const [tightest] = budgets.toSorted((a, b) => left(a) - left(b));
  const change = (words: ReactNode) =>
    onChange && (
      <button type="button" onClick={onChange} className="text-accent hover:underline">
        {words}
      </button>
    );
  if (!tightest)
    return (
      <Fact name="Budget" more={<span className="no-print">{change('Set a budget')}</span>}>
        None
      </Fact>
    );
  const { max, scope } = tightest;
  const costUnit = unitOfBudget(scope, job.costUnit);
  return (
    <Fact
      name="Budget"
      more={
        <>
          of {formatCost(max, costUnit)} left ({SCOPES[scope] ?? scope})
          {onChange && (
            <span className="no-print whitespace-nowrap">
              {' '}
              ·{' '}
              {change(
                <>
                  Change<span className="sr-only"> budget</span>
                </>,
              )}
            </span>
          )}
        </>
      }
    >
      {formatCost(Math.max(0, left(tightest)), costUnit)}
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

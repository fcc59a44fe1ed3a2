// Why a job is not making progress, and what to do: budget reached, no worker, unreadable file, test run finished.
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button, buttonClass } from '../../components/button.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatCount } from '../../lib/format.ts';
import { canRerun } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import type { JobProgressProps } from './job-progress.tsx';
import { ProcessNow } from './process-now.tsx';

export interface JobNoticeProps extends Pick<JobProgressProps, 'job' | 'live'> {
  onBudget: () => void;
}

export function JobNotice({ job, live, onBudget }: JobNoticeProps) {
  const { can } = usePermission();
  const { state } = live;
  if (state === 'FAILED')
    return (
      <Notice
        tone="bad"
        text={job.lastError ?? 'The job failed'}
        hint="Fix the file and create a new job. Finished rows can be rerun."
        action={
          can('createJob') && (
            <Link
              to="/jobs/new"
              search={{ pipeline: job.pipeline }}
              className={buttonClass('plain', 'small')}
            >
              New job
            </Link>
          )
        }
      />
    );
  if (state === 'PAUSED' && job.pausedBecause)
    return (
      <Notice
        text={job.pausedBecause}
        action={
          can('changeJob', 'resumeJob') &&
          job.pausedBecause.startsWith('budget of') &&
          job.budget.max !== null && (
            <Button size="small" onClick={onBudget}>
              Increase budget…
            </Button>
          )
        }
      />
    );
  if (job.blockedBecause)
    return (
      <Notice
        text={job.blockedBecause}
        hint={
          <>
            Rows will wait until a worker is available. To start one, run{' '}
            <code className="rounded bg-surface px-1 font-mono">rowmill worker</code> with the pipeline file.
          </>
        }
        action={
          <>
            {can('sliceJob') && <ProcessNow jobId={job.jobId} />}
            <Link to="/workers" className={buttonClass('plain', 'small')}>
              View workers
            </Link>
          </>
        }
      />
    );
  if (job.held > 0 && state !== 'PAUSED' && !canRerun(state)) return <TrialNotice job={job} live={live} />;
  if (job.slowSummary) return <Notice text={job.slowSummary} details={job.slowBecause} />;
  return job.lastError ? <Notice text={job.lastError} /> : null;
}

function TrialNotice({ job, live: { counts } }: Pick<JobProgressProps, 'job' | 'live'>) {
  const { can } = usePermission();
  const isOver = (counts.PROCESSING ?? 0) === 0 && (counts.PENDING ?? 0) <= job.held;
  const rest = `${formatCount(job.held)} ${job.held === 1 ? 'row' : 'rows'} waiting`;
  return (
    <Notice
      tone="info"
      text={isOver ? `Test run finished — ${rest}` : `Test run in progress — ${rest}`}
      hint={
        can('resumeJob')
          ? 'Check the results below, then run the rest or cancel.'
          : 'Someone with edit access must approve the rest.'
      }
    />
  );
}

const TONES = { warn: 'bg-warn-soft text-warn', bad: 'bg-bad-soft text-bad', info: 'bg-info-soft text-info' };

interface NoticeProps {
  tone?: keyof typeof TONES;
  text: string;
  hint?: ReactNode;
  /** Technical reasons, for operators. */
  details?: string | null;
  action?: ReactNode;
}

function Notice({ tone = 'warn', text, hint, details, action }: NoticeProps) {
  return (
    <div className={classNames('flex flex-wrap items-center gap-3 rounded-md px-3 py-2', TONES[tone])}>
      <div role="status" className="min-w-0 flex-1 basis-64">
        <p className="break-words">{text.charAt(0).toUpperCase() + text.slice(1)}</p>
        {hint && <p className="text-[13px] text-text">{hint}</p>}
        {details && (
          <details className="text-[13px] text-text">
            <summary className="cursor-pointer">Details</summary>
            <p className="break-words">{details}</p>
          </details>
        )}
      </div>
      {action}
    </div>
  );
}

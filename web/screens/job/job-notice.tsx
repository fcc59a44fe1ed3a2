// Why a job does not go on, and what to do about it: out of money, no worker for it, a file that could not be read, a trial
// that waits to be looked at.
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Button, buttonClass } from '../../components/button.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatCount } from '../../lib/format.ts';
import { canRunAgain } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import type { JobProgressProps } from './job-progress.tsx';
import { ProcessNow } from './process-now.tsx';

export interface JobNoticeProps extends JobProgressProps {
  onBudget: () => void;
}

export function JobNotice({ job, live, onBudget }: JobNoticeProps) {
  const { can } = usePermission();
  const { state } = live;
  if (state === 'FAILED')
    return (
      <Notice
        tone="bad"
        text={job.lastError ?? 'the job failed'}
        hint="Correct the file and make a new job of it. Rows that have ended can be run again."
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
              Raise the budget…
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
            Its rows wait until there is one. Where the pipeline is, start{' '}
            <code className="rounded bg-surface px-1 font-mono">rowmill worker</code> with the file that
            defines it.
          </>
        }
        action={
          <>
            {can('sliceJob') && <ProcessNow jobId={job.jobId} />}
            <Link to="/workers" className={buttonClass('plain', 'small')}>
              See the workers
            </Link>
          </>
        }
      />
    );
  if (job.held > 0 && state !== 'PAUSED' && !canRunAgain(state)) return <TrialNotice job={job} live={live} />;
  const because = job.slowBecause ?? job.lastError;
  return because ? <Notice text={because} /> : null;
}

function TrialNotice({ job, live: { counts } }: JobProgressProps) {
  const { can } = usePermission();
  const isOver = (counts.PROCESSING ?? 0) === 0 && (counts.PENDING ?? 0) <= job.held;
  const others = `${formatCount(job.held)} ${job.held === 1 ? 'row waits' : 'rows wait'}`;
  return (
    <Notice
      tone="info"
      text={
        isOver
          ? `the trial is over: the other ${others}`
          : `the first rows are tried out: the other ${others}`
      }
      hint={
        can('resumeJob')
          ? 'Look at the results below, then run the others, or cancel the job.'
          : 'They run when somebody who may change the job has looked at the results below.'
      }
    />
  );
}

const TONES = { warn: 'bg-warn-soft text-warn', bad: 'bg-bad-soft text-bad', info: 'bg-info-soft text-info' };

interface NoticeProps {
  tone?: keyof typeof TONES;
  text: string;
  hint?: ReactNode;
  action?: ReactNode;
}

function Notice({ tone = 'warn', text, hint, action }: NoticeProps) {
  return (
    <div className={classNames('flex flex-wrap items-center gap-3 rounded-md px-3 py-2', TONES[tone])}>
      <div role="status" className="min-w-0 flex-1 basis-64">
        <p className="break-words">{text.charAt(0).toUpperCase() + text.slice(1)}</p>
        {hint && <p className="text-[13px] text-text">{hint}</p>}
      </div>
      {action}
    </div>
  );
}

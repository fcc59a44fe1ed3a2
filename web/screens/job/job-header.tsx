// Name, state and actions of a job.
import { Link } from '@tanstack/react-router';
import { Link2, MoreHorizontal, Pause, Pencil, Play, Printer, RotateCcw, X } from 'lucide-react';
import { lazy, memo, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { OnceOpen } from '../../components/once-open.tsx';
import { OutcomeChip, StatusChip } from '../../components/status-chip.tsx';
import { actOnJob } from '../../lib/act-on-job.ts';
import { client } from '../../lib/client.ts';
import { copyLink } from '../../lib/copy-link.ts';
import { fetchPart } from '../../lib/fetch-part.ts';
import { formatCount } from '../../lib/format.ts';
import { canRerun, FINISHED_STATUSES, type Job } from '../../lib/job.ts';
import { usePermission } from '../../lib/permission.ts';
import type { Reprocess } from './reprocess-dialog.tsx';
import { type ReprocessRequest, useReprocessPreview } from './use-reprocess-preview.ts';

const ChangeJobDialog = lazy(() =>
  fetchPart(() => import('./change-job-dialog.tsx')).then((module) => ({ default: module.ChangeJobDialog })),
);
const ReprocessDialog = lazy(() =>
  fetchPart(() => import('./reprocess-dialog.tsx')).then((module) => ({ default: module.ReprocessDialog })),
);
const Confirm = lazy(() =>
  fetchPart(() => import('../../components/confirm.tsx')).then((module) => ({ default: module.Confirm })),
);

export const JobHeader = memo(function JobHeader({ job, state }: { job: Job; state: string }) {
  return (
    <header className="flex flex-wrap items-start gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-64">
        <p className="truncate text-[13px] text-muted">
          <Link to="/jobs" className="hover:underline">
            Jobs
          </Link>{' '}
          / {job.pipeline}
        </p>
        <div className="flex items-center gap-3">
          <h1 className="truncate text-xl font-semibold" title={job.name || job.jobId}>
            {job.name || job.jobId}
          </h1>
          <StatusChip status={state} />
          <OutcomeChip state={state} outcome={job.outcome} />
        </div>
      </div>
      <Controls job={job} state={state} />
    </header>
  );
});

/** The server skips permanent failures and rows over the retry limit. */
const UNSUCCESSFUL: ReprocessRequest = { scope: 'job', statuses: ['ERROR', 'NOT_FOUND'] };

function Controls({ job, state }: { job: Job; state: string }) {
  const [isCancelling, setCancelling] = useState(false);
  const [isChanging, setChanging] = useState(false);
  const [reprocess, setReprocess] = useState<Reprocess | null>(null);
  const { jobId, counts } = job;
  const { can } = usePermission();
  const resume = () => void actOnJob(jobId, 'Resumed', () => client.resumeJob({ jobId }));
  const pause = () => void actOnJob(jobId, 'Paused', () => client.pauseJob({ jobId }), resume);
  const isOpen = ['INGESTING', 'QUEUED', 'RUNNING'].includes(state);
  const unsuccessful = counts.ERROR + counts.NOT_FOUND;
  const canRetry = can('reprocessJob') && canRerun(state) && unsuccessful > 0;
  const rerun = useReprocessPreview(job, canRetry ? UNSUCCESSFUL : null)?.selected ?? 0;
  return (
    <div className="no-print flex flex-wrap gap-2">
      {canRetry && (
        <Button
          onClick={() => setReprocess({ verb: 'Retry', what: 'unsuccessful rows', request: UNSUCCESSFUL })}
        >
          <RotateCcw size={15} aria-hidden />{' '}
          {rerun > 0 ? `Retry ${formatCount(rerun)} ${rerun === 1 ? 'row' : 'rows'}…` : 'Retry unsuccessful…'}
        </Button>
      )}
      {can('pauseJob') && isOpen && (
        <Button onClick={pause}>
          <Pause size={15} aria-hidden /> Pause
        </Button>
      )}
      {can('resumeJob') && (state === 'PAUSED' || job.held > 0) && (
        <Button kind="primary" onClick={resume}>
          <Play size={15} aria-hidden />{' '}
          {state === 'PAUSED'
            ? 'Resume'
            : `Run remaining ${formatCount(job.held)} ${job.held === 1 ? 'row' : 'rows'}`}
        </Button>
      )}
      {can('cancelJob') && (isOpen || state === 'PAUSED') && (
        <Button kind="danger" onClick={() => setCancelling(true)}>
          <X size={15} aria-hidden /> Cancel
        </Button>
      )}
      <Menu label={<MoreHorizontal size={16} aria-hidden />} name="More actions" bare>
        {can('changeJob') && (
          <MenuItem onSelect={() => setChanging(true)}>
            <Pencil size={15} aria-hidden /> Rename or reprioritise…
          </MenuItem>
        )}
        <MenuItem onSelect={copyLink}>
          <Link2 size={15} aria-hidden /> Copy link
        </MenuItem>
        <MenuItem onSelect={() => print()}>
          <Printer size={15} aria-hidden /> Print
        </MenuItem>
        {can('reprocessJob') && (
          <MenuItem
            disabled={!canRerun(state) || job.itemCount === 0}
            onSelect={() =>
              setReprocess({
                verb: 'Rerun',
                what: `all ${formatCount(job.itemCount)} rows`,
                request: { scope: 'job', statuses: [...FINISHED_STATUSES] },
              })
            }
          >
            <RotateCcw size={15} aria-hidden /> Rerun all rows…
          </MenuItem>
        )}
      </Menu>
      <OnceOpen open={isChanging}>
        <ChangeJobDialog job={job} open={isChanging} onClose={() => setChanging(false)} />
      </OnceOpen>
      <OnceOpen open={reprocess !== null}>
        <ReprocessDialog job={job} reprocess={reprocess} onClose={() => setReprocess(null)} />
      </OnceOpen>
      <OnceOpen open={isCancelling}>
        <Confirm
          open={isCancelling}
          onClose={() => setCancelling(false)}
          title="Cancel this job?"
          action="Cancel job"
          cancel="Keep running"
          danger
          onConfirm={() => actOnJob(jobId, 'Cancelling…', () => client.cancelJob({ jobId }))}
        >
          Finished rows keep their results. The rest are cancelled and can be rerun later.
        </Confirm>
      </OnceOpen>
    </div>
  );
}

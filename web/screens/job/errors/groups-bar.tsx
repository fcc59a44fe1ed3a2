// Actions on the selected error groups.
import { Download, Pencil, RotateCcw, SkipForward } from 'lucide-react';
import { Button, buttonClass } from '../../../components/button.tsx';
import { formatCount } from '../../../lib/format.ts';
import type { ErrorGroup, Job } from '../../../lib/job.ts';
import { usePermission } from '../../../lib/permission.ts';
import { basePath } from '../../../lib/server-page.ts';
import type { GroupAction, GroupAllowance } from './group-actions.ts';
import { groupsExport, rowsOf } from './group-selection.ts';

export interface GroupsBarProps {
  job: Job;
  groups: readonly ErrorGroup[];
  allowed: GroupAllowance;
  onAct: (action: GroupAction) => void;
  onClear: () => void;
}

export function GroupsBar({ job, groups, allowed, onAct, onClear }: GroupsBarProps) {
  const { can } = usePermission();
  const rows = rowsOf(groups);
  const download = groupsExport(groups);
  const hint = allowed.canRun ? undefined : 'Available when the job is finished or paused';
  const changeHint = allowed.canChange ? undefined : 'Available when the job is finished';
  return (
    <div
      role="group"
      aria-label="Actions on selected errors"
      className="mb-3 flex flex-wrap items-center gap-2 rounded-lg border border-line bg-accent-soft px-3 py-2"
    >
      <span className="mr-2 font-medium tabular-nums">
        {formatCount(groups.length)} {groups.length === 1 ? 'group' : 'groups'} selected, {formatCount(rows)}{' '}
        {rows === 1 ? 'row' : 'rows'}
      </span>
      {can('reprocessJob') && (
        <Button size="small" disabled={!allowed.canRun} title={hint} onClick={() => onAct('retry')}>
          <RotateCcw size={14} aria-hidden /> Retry…
        </Button>
      )}
      {can('previewErrorEdit', 'editErrors') && (
        <Button size="small" disabled={!allowed.canChange} title={changeHint} onClick={() => onAct('edit')}>
          <Pencil size={14} aria-hidden /> Edit a field and retry…
        </Button>
      )}
      {can('skipErrors') && (
        <Button size="small" disabled={!allowed.canChange} title={changeHint} onClick={() => onAct('skip')}>
          <SkipForward size={14} aria-hidden /> Skip…
        </Button>
      )}
      {can('exportJob') && download !== null && (
        <a
          href={`${basePath}/api/v1/jobs/${job.jobId}/export?${download}`}
          download
          className={buttonClass('plain', 'small')}
        >
          <Download size={14} aria-hidden /> Download rows
        </a>
      )}
      <Button kind="quiet" size="small" onClick={onClear}>
        Clear selection
      </Button>
    </div>
  );
}

// Actions on the selected jobs.
import { Pause, Play, X } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { formatCount } from '../../lib/format.ts';
import { actionable, type BulkAction, controlJobs } from './control-jobs.ts';
import type { ListedJob } from './job-table.tsx';

export function BulkBar({ jobs, onClear }: { jobs: readonly ListedJob[]; onClear: () => void }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const run = async (action: BulkAction) => {
    setBusy(true);
    await controlJobs(action, jobs).finally(() => setBusy(false));
    onClear();
  };
  const [pausable, resumable, cancellable] = (['pause', 'resume', 'cancel'] as const).map(
    (action) => actionable(action, jobs).length,
  ) as [number, number, number];
  return (
    <section
      aria-label="Selected jobs"
      className="sticky top-2 z-10 flex flex-wrap items-center gap-2 rounded-lg border border-line bg-surface px-3 py-2 shadow-md"
    >
      <p role="status" className="mr-auto font-medium">
        {formatCount(jobs.length)} selected
      </p>
      <Button size="small" disabled={isBusy || pausable === 0} onClick={() => void run('pause')}>
        <Pause size={14} aria-hidden /> Pause {pausable > 0 && pausable}
      </Button>
      <Button size="small" disabled={isBusy || resumable === 0} onClick={() => void run('resume')}>
        <Play size={14} aria-hidden /> Resume {resumable > 0 && resumable}
      </Button>
      <Button
        size="small"
        kind="danger"
        disabled={isBusy || cancellable === 0}
        onClick={() => setAsking(true)}
      >
        <X size={14} aria-hidden /> Cancel {cancellable > 0 && cancellable}
      </Button>
      <Button size="small" kind="quiet" onClick={onClear}>
        Clear selection
      </Button>
      <Confirm
        open={isAsking}
        onClose={() => setAsking(false)}
        title={cancellable === 1 ? 'Cancel this job?' : `Cancel ${cancellable} jobs?`}
        action={cancellable === 1 ? 'Cancel job' : `Cancel ${cancellable} jobs`}
        cancel="Keep running"
        danger
        onConfirm={() => run('cancel')}
      >
        Finished rows keep their results; the rest can be rerun later.
      </Confirm>
    </section>
  );
}

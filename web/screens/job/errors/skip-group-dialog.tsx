// Asks for a reason before the rows of error groups are skipped.

import { TextField } from '../../../components/field.tsx';
import { FormDialog, textIn } from '../../../components/form-dialog.tsx';
import { say } from '../../../components/toasts.tsx';
import { client, queries } from '../../../lib/client.ts';
import { formatCount } from '../../../lib/format.ts';
import type { ErrorGroup, Job } from '../../../lib/job.ts';
import { groupsRequest, rowsOf } from './group-selection.ts';

export interface GroupDialogProps {
  job: Job;
  groups: readonly ErrorGroup[];
  onClose: () => void;
}

export function SkipGroupDialog({ job, groups, onClose }: GroupDialogProps) {
  const { jobId, generation } = job;
  const count = rowsOf(groups);
  const rows = `${formatCount(count)} ${count === 1 ? 'row' : 'rows'}`;
  const skip = async (form: FormData) => {
    const { selected } = await client.skipErrors({
      jobId,
      ...groupsRequest(groups),
      reason: textIn(form, 'reason'),
      ifGeneration: generation,
    });
    say(`${formatCount(selected)} ${selected === 1 ? 'row' : 'rows'} skipped`);
    await queries.invalidateQueries({ queryKey: ['job', jobId] });
  };
  return (
    <FormDialog
      title={`Skip ${rows} with ${groups.length === 1 ? 'this error' : 'these errors'}?`}
      action={`Skip ${rows}`}
      onClose={onClose}
      onSubmit={skip}
    >
      <p className="text-muted">
        Marks these rows as skipped (run {generation + 1}). Nothing runs, nothing is charged. You can retry
        them later.
      </p>
      <TextField label="Reason" name="reason" required maxLength={1000} hint="Shown on every skipped row" />
    </FormDialog>
  );
}

// Edits name, priority and retention of a job.
import { type FormEvent, useState } from 'react';
import { MAX_KEEP_DAYS } from '../../../src/core/jobs/retention.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { actOnJob } from '../../lib/act-on-job.ts';
import { client } from '../../lib/client.ts';
import type { Job } from '../../lib/job.ts';

export function ChangeJobDialog({ job, open, onClose }: { job: Job; open: boolean; onClose: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const { jobId, retention } = job;
  const change = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get('name')).trim();
    const priority = Number(form.get('priority'));
    const days = String(form.get('keepDays')).trim();
    const keepDays = days === '' ? null : Number(days);
    const isKept = keepDays !== ownDays(retention);
    setBusy(true);
    const worked = await actOnJob(jobId, 'Saved', () =>
      client.changeJob({ jobId, ...(name !== '' && { name }), priority, ...(isKept && { keepDays }) }),
    );
    setBusy(false);
    if (worked) onClose();
  };
  return (
    <Dialog open={open} onClose={onClose} title="Edit job">
      <form onSubmit={(event) => void change(event)} className="flex flex-col gap-4">
        <TextField label="Name" name="name" defaultValue={job.name} maxLength={200} />
        <TextField
          label="Priority"
          name="priority"
          type="number"
          min={-30_000}
          max={30_000}
          step={1}
          defaultValue={job.priority}
          hint="Higher runs first (default 0)"
          required
        />
        <TextField
          label="Days to keep"
          name="keepDays"
          type="number"
          min={0}
          max={MAX_KEEP_DAYS}
          step={1}
          defaultValue={ownDays(retention) ?? ''}
          hint={`After it has finished. 0 keeps it for ever. Empty: ${ruleOf(retention)}`}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={isBusy}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Null: another rule decides. */
function ownDays({ decidedBy, keepDays }: Job['retention']): number | null {
  return decidedBy === 'job' ? keepDays : null;
}

function ruleOf({ decidedBy, keepDays }: Job['retention']): string {
  if (decidedBy === 'job') return 'the rule of its owner or pipeline';
  return keepDays === 0 ? 'for ever' : `${keepDays} days (${decidedBy})`;
}

// Edits name and priority of a job.
import { type FormEvent, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { actOnJob } from '../../lib/act-on-job.ts';
import { client } from '../../lib/client.ts';
import type { Job } from '../../lib/job.ts';

export function ChangeJobDialog({ job, open, onClose }: { job: Job; open: boolean; onClose: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const { jobId } = job;
  const change = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = String(form.get('name')).trim();
    const priority = Number(form.get('priority'));
    setBusy(true);
    const worked = await actOnJob(jobId, 'Saved', () =>
      client.changeJob({ jobId, ...(name !== '' && { name }), priority }),
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

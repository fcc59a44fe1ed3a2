// What a job may spend, changed while it runs or after it paused itself. The button says what is allowed from then on.
import { type FormEvent, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { say } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import { formatCost } from '../../lib/format.ts';
import type { Job } from '../../lib/job.ts';
import { amountIn, budgetWords } from './budget-words.ts';

export interface BudgetDialogProps {
  job: Job;
  state: string;
  /** What was spent so far. */
  spent: number;
  onClose: () => void;
}

export function BudgetDialog({ job, state, spent, onClose }: BudgetDialogProps) {
  const { jobId, budget } = job;
  const isPaused = state === 'PAUSED';
  const [max, setMax] = useState(budget.max === null ? '' : String(budget.max));
  const [perItem, setPerItem] = useState(budget.perItem === null ? '' : String(budget.perItem));
  const [resume, setResume] = useState(isPaused);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const next = { max: amountIn(max), perItem: amountIn(perItem) };
  const words = budgetWords(next.max, spent);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (next.max === undefined || next.perItem === undefined) return;
    setBusy(true);
    setError(null);
    try {
      await client.changeJob({ jobId, budget: { max: next.max, perItem: next.perItem } });
      if (isPaused && resume) await client.resumeJob({ jobId });
      say(isPaused && resume ? 'The budget was changed, and the job goes on' : 'The budget was changed');
      onClose();
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
    await queries.invalidateQueries({ queryKey: ['job', jobId] });
  };
  return (
    <Dialog open onClose={onClose} title="Budget">
      <form onSubmit={(event) => void save(event)} className="flex flex-col gap-4">
        <p className="text-muted">
          {formatCost(spent)} was spent so far, in the unit of the pipeline. When the budget is used up the
          job pauses itself: no row is lost.
        </p>
        <TextField
          label="The whole job, over all its runs"
          inputMode="decimal"
          value={max}
          onChange={({ target }) => setMax(target.value)}
          hint="Empty: nothing limits it."
          error={next.max === undefined ? 'A number from 0, such as 12.50.' : undefined}
        />
        <TextField
          label="One row, over all its calls"
          inputMode="decimal"
          value={perItem}
          onChange={({ target }) => setPerItem(target.value)}
          hint="Empty: nothing limits it."
          error={next.perItem === undefined ? 'A number from 0, such as 0.10.' : undefined}
        />
        {isPaused && (
          <CheckField
            label="Go on with the job"
            checked={resume}
            onChange={({ target }) => setResume(target.checked)}
          />
        )}
        {words !== null && <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{words}</p>}
        {error !== null && <FailureNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Go back</Button>
          <Button
            type="submit"
            kind="primary"
            disabled={isBusy || next.max === undefined || next.perItem === undefined}
          >
            {next.max == null ? 'Allow any amount' : `Allow ${formatCost(next.max)}`}
            {isPaused && resume && ' and resume'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

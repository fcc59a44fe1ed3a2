// Changes the budget of a job, while it runs or after it paused for money.
import { type FormEvent, useState } from 'react';
import { formatCost } from '../../../src/core/limits/format-cost.ts';
import { Button } from '../../components/button.tsx';
import { CheckField } from '../../components/check-field.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { FailureNote } from '../../components/failure-note.tsx';
import { TextField } from '../../components/field.tsx';
import { say } from '../../components/toasts.tsx';
import { client, queries } from '../../lib/client.ts';
import type { Job } from '../../lib/job.ts';
import { amountIn, budgetWords } from './budget-words.ts';

export interface BudgetDialogProps {
  job: Job;
  state: string;
  /** Cost so far. */
  spent: number;
  onClose: () => void;
}

export function BudgetDialog({ job, state, spent, onClose }: BudgetDialogProps) {
  const { jobId, budget, costUnit } = job;
  const isPaused = state === 'PAUSED';
  const [max, setMax] = useState(budget.max === null ? '' : String(budget.max));
  const [perItem, setPerItem] = useState(budget.perItem === null ? '' : String(budget.perItem));
  const [resume, setResume] = useState(isPaused);
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const next = { max: amountIn(max), perItem: amountIn(perItem) };
  const words = budgetWords(next.max, spent, costUnit);
  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (next.max === undefined || next.perItem === undefined) return;
    setBusy(true);
    setError(null);
    try {
      await client.changeJob({ jobId, budget: { max: next.max, perItem: next.perItem } });
      if (isPaused && resume) await client.resumeJob({ jobId });
      say(isPaused && resume ? 'Budget updated, job resumed' : 'Budget updated');
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
          {formatCost(spent, costUnit)} spent so far. The job pauses when the budget is used up; no row is
          lost.
        </p>
        <TextField
          label="Job budget (all runs)"
          inputMode="decimal"
          value={max}
          onChange={({ target }) => setMax(target.value)}
          hint="Leave empty for no limit"
          error={next.max === undefined ? 'Enter an amount, e.g. 12.50' : undefined}
        />
        <TextField
          label="Per-row budget (all attempts)"
          inputMode="decimal"
          value={perItem}
          onChange={({ target }) => setPerItem(target.value)}
          hint="Leave empty for no limit"
          error={next.perItem === undefined ? 'Enter an amount, e.g. 0.10' : undefined}
        />
        {isPaused && (
          <CheckField
            label="Resume job"
            checked={resume}
            onChange={({ target }) => setResume(target.checked)}
          />
        )}
        {words !== null && <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{words}</p>}
        {error !== null && <FailureNote error={error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            kind="primary"
            disabled={isBusy || next.max === undefined || next.perItem === undefined}
          >
            {isPaused && resume ? 'Save and resume' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
